"""How the report looks: the same colours and spacing as the pages of the service."""

STYLE = """
:root{--paper:#f6f7f3;--surface:#fff;--ink:#18211b;--muted:#56635a;--line:#d9dfd6;--accent:#1f6f3a;--amber:#7a4d00;
--amber-wash:#fdf1d3;--red:#a3201a;color-scheme:light dark}
@media(prefers-color-scheme:dark){:root{--paper:#111613;--surface:#1a211d;--ink:#e7ede8;--muted:#a0aea4;--line:#2d3831;
--accent:#7bcb8a;--amber:#f0c566;--amber-wash:#33290f;--red:#ff9d94}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,sans-serif}
main{max-width:1180px;margin:0 auto;padding:24px 20px 48px}
h1{font-size:28px;line-height:1.2;margin:0 0 4px;overflow-wrap:anywhere}
h2{font-size:19px;margin:0 0 12px}
h3{font-size:15px;margin:16px 0 4px;color:var(--muted)}
p{margin:8px 0;color:var(--muted)}
.facts b{color:var(--ink);font-weight:600}
section{background:var(--surface);border:1px solid var(--line);border-radius:12px;padding:20px;margin-top:16px}
.wide{overflow-x:auto}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}
th,td{padding:6px 20px 6px 0;text-align:left;font-weight:400;border-bottom:1px solid var(--line)}
thead th{color:var(--muted);font-size:14px}
tbody th{font-weight:600;min-width:7em;max-width:22em;overflow-wrap:break-word}
.number{text-align:right;white-space:nowrap}
.how{color:var(--muted);font-size:14px}
.notes{margin:12px 0 0;padding:12px 12px 12px 32px;background:var(--amber-wash);color:var(--amber);border-radius:8px}
.legend{display:flex;flex-wrap:wrap;gap:4px 20px;list-style:none;margin:0 0 12px;padding:0;overflow-wrap:anywhere}
.dot{width:12px;height:12px;margin-right:8px;vertical-align:-1px;border-radius:50%;background:var(--ink);padding:1px}
.tiles{display:grid;grid-template-columns:repeat(auto-fill,minmax(250px,1fr));gap:16px}
figure{margin:0;min-width:0}
figure svg{display:block;width:100%;height:auto;border-radius:8px;background:var(--line)}
figcaption{font-size:14px;color:var(--muted);margin-top:4px;overflow-wrap:anywhere}
figcaption b{color:var(--ink)}
.lost{color:var(--red)}
.chart{display:block;width:100%;height:auto;overflow:visible}
.chart text{fill:var(--muted);font-size:12px}
.grid{stroke:var(--line)}
@media(prefers-color-scheme:dark){.chart g,.gap{filter:brightness(1.5)}}
.curve{stroke-width:1.8;stroke-linejoin:round;vector-effect:non-scaling-stroke}
@media(max-width:520px){main{padding:16px 12px 32px}section{padding:16px 12px}.how{display:none}
th,td{padding-right:12px}
.tiles{grid-template-columns:1fr 1fr;gap:12px}.chart text{font-size:22px}}
@media print{section{break-inside:avoid;border-color:#ccc}}
"""
