"""Follow markers through a movie. Knows nothing of users, leases or clouds; usable on its own."""
