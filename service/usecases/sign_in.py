"""Sign in by a link that works once, and sign out again."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from service.domain.errors import InvalidApiKey, NotAllowed, OutcomeUnknown, UserNotFound
from service.domain.policy import DAY, SESSION
from service.store.conditions import is_new
from service.store.expressions import Update, equals
from service.store.schema import KEYS, RECEIPTS
from service.store.stores import Stores
from service.store.table import Change, ConditionFailed, Put, TransactionRefused

LINK_SECONDS = 3600


class BadLink(NotAllowed):
    """This sign-in link is not valid: it may be cut off, used already, or too old. Ask for a new one."""

    code = "bad_link"


@dataclass(frozen=True, slots=True)
class SignInLink:
    """What a link says: whose it is, until when (epoch seconds); `nonce` tells one link from another."""

    user_id: str
    nonce: str
    expires_at: int


async def new_link(stores: Stores, user_id: str, *, consistent: bool = False) -> SignInLink:
    """A link for this person, who may (`consistent`) have come in just now. Raises UserNotFound, Unavailable."""
    user = await stores.people.user(user_id, consistent=consistent)
    if user is None or not user.get("enabled", 1):
        raise UserNotFound
    return SignInLink(user_id, stores.ids.token(), stores.clock.now() + LINK_SECONDS)


async def sign_in(stores: Stores, link: SignInLink) -> str:
    """Use the link up and make a key for the browser, both in one transaction. Returns the key.

    Raises BadLink (expired or used), InvalidApiKey (the person is gone or disabled), Unavailable.
    """
    now = stores.clock.now()
    if link.expires_at <= now:
        raise BadLink
    user = await stores.people.user(link.user_id)
    if user is None or not user.get("enabled", 1):
        raise InvalidApiKey
    api_key = stores.ids.api_key()
    used = {
        "receipt_id": "signin-" + hashlib.sha256(link.nonce.encode()).hexdigest(),
        "user_id": link.user_id,
        "kind": "signin",
        "created_at": now,
        "delete_after": link.expires_at + DAY,
    }
    key = {"api_key": api_key, "user_id": link.user_id, "enabled": 1, "created": now, "made_for": SESSION}
    try:
        await stores.transact(
            [Put(RECEIPTS, used, is_new("receipt_id")), Put(KEYS, key, is_new("api_key"))],
        )
    except TransactionRefused:
        raise BadLink from None
    except OutcomeUnknown:
        if not await stores.database.get(KEYS, {"api_key": api_key}):
            raise
    return api_key


async def sign_out(stores: Stores, api_key: str) -> bool:
    """Disable a browser's own key. False if it is none: keys that people use elsewhere stay as they are."""
    gone = Update(set={"enabled": 0, "disabled_at": stores.clock.now()})
    try:
        await stores.database.write(Change(KEYS, {"api_key": api_key}, gone, equals("made_for", SESSION)))
    except ConditionFailed:
        return False
    return True
