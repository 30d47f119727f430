"""The style sheet of the pages: light and dark, for narrow and wide screens."""

from __future__ import annotations

import re

# `light-dark` follows the reader's system; in a notebook, the notebook's own theme.
_RULES = """
.polygen {
  color-scheme: light dark;
  --text: light-dark(#1f2328, #d9dee4); --soft: light-dark(#57606a, #9aa4af);
  --paper: light-dark(#ffffff, #14181d); --block: light-dark(#f6f8fa, #1c2229);
  --line: light-dark(#d4dae1, #343c46); --link: light-dark(#0757b3, #6cb0ff);
  --iname: light-dark(#0550ae, #79c0ff); --keyword: light-dark(#b3202c, #ff8a80);
  --type: light-dark(#8a3d00, #ffb072); --number: light-dark(#0a5c36, #7ee2a8);
  --string: light-dark(#0a3069, #a5d6ff); --function: light-dark(#6639ba, #d2a8ff);
  --temporary: light-dark(#7a4a00, #e8c46a);
  --flow: light-dark(#1f2328, #d9dee4); --anti: light-dark(#a84a00, #ffa657);
  --output: light-dark(#6a3d9a, #d2a8ff);
  color: var(--text); background: var(--paper); line-height: 1.5; text-align: left;
  padding: 6px 10px;
  font-family: system-ui, -apple-system, "Segoe UI", "Noto Sans", "DejaVu Sans", sans-serif;
  font-size: 15px;
}
body[data-jp-theme-light="true"] .polygen, body.vscode-light .polygen { color-scheme: light; }
body[data-jp-theme-light="false"] .polygen, body.vscode-dark .polygen { color-scheme: dark; }
.polygen *, .polygen { box-sizing: border-box; }
.polygen pre, .polygen .step, .polygen svg text, .polygen td, .polygen tbody th {
  font-family: ui-monospace, "SF Mono", "Cascadia Mono", "DejaVu Sans Mono", Menlo, monospace;
  font-size: 12.5px; line-height: 1.55;
}
.polygen pre {
  margin: 6px 0 10px; padding: 10px 12px; overflow-x: auto; white-space: pre; color: var(--text);
  background: var(--block); border: 1px solid var(--line); border-radius: 6px; tab-size: 4;
}
.polygen details { margin: 2px 0; min-width: 0; }
.polygen details > :not(summary) { margin-left: 18px; }
.polygen details > .wide { margin-left: 18px; }
.polygen summary { cursor: pointer; padding: 3px 0; overflow-wrap: anywhere; }
.polygen summary h2, .polygen summary strong {
  display: inline; margin: 0; font-size: inherit; font-weight: 600;
}
.polygen .kernel > summary { font-size: 16px; }
.polygen .count { color: var(--soft); font-weight: 400; }
.polygen p { margin: 6px 0; overflow-wrap: anywhere; }
.polygen .legend, .polygen .note { color: var(--soft); font-size: 13px; }
.polygen .refusal {
  white-space: pre-wrap; border-left: 3px solid var(--keyword); padding: 4px 12px;
}
.polygen .wide { overflow-x: auto; margin: 6px 0 10px; }
.polygen table { border-collapse: collapse; margin: 0; color: var(--text); }
.polygen th, .polygen td {
  text-align: left; vertical-align: top; padding: 3px 14px 3px 0; background: none;
  border: 0; border-bottom: 1px solid var(--line); white-space: pre; font-weight: 400;
}
.polygen thead th { color: var(--soft); font-size: 13px; }
.polygen ol { margin: 0; padding-left: 22px; }
.polygen :focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
.polygen a { color: var(--link); }
.polygen .iname { color: var(--iname); } .polygen .keyword { color: var(--keyword); }
.polygen .type { color: var(--type); } .polygen .number { color: var(--number); }
.polygen .string { color: var(--string); } .polygen .function { color: var(--function); }
.polygen .comment, .polygen .directive, .polygen .title { color: var(--soft); }
.polygen .temporary { color: var(--temporary); } .polygen .size { font-style: italic; }
.polygen .added { color: light-dark(#0f5323, #aff5b4); background: light-dark(#dafbe1, #10331c); }
.polygen .removed { color: light-dark(#82071e, #ffd0ca); background: light-dark(#ffebe9, #4a1216); }
.polygen .lines { display: inline-block; min-width: 100%; }
.polygen .lines > span { display: block; }
.polygen svg.graph { display: block; }
.polygen svg text { fill: var(--text); font-size: 12px; }
.polygen svg .work { fill: var(--soft); }
.polygen svg rect { fill: none; stroke: var(--line); }
.polygen svg rect.loop { fill: light-dark(#00000005, #ffffff08); stroke: var(--soft); }
.polygen svg rect.parallel { fill: light-dark(#0550ae0a, #79c0ff0c); stroke: var(--iname); }
.polygen svg rect.instruction { fill: var(--paper); }
.polygen svg .arc { fill: none; stroke-width: 1.3; }
.polygen svg .declared .arc { stroke: var(--soft); }
.polygen svg .declared .head { fill: var(--soft); }
.polygen svg .flow .arc { stroke: var(--flow); } .polygen svg .flow .head { fill: var(--flow); }
.polygen svg .anti .arc { stroke: var(--anti); stroke-dasharray: 5 3; }
.polygen svg .anti .head { fill: var(--anti); }
.polygen svg .output .arc { stroke: var(--output); stroke-dasharray: 1.5 3; }
.polygen svg .output .head { fill: var(--output); }
.polygen .key.flow { color: var(--flow); } .polygen .key.anti { color: var(--anti); }
.polygen .key.output { color: var(--output); }
"""

# A page of its own has a background, a width, and what is beside the kernel itself.
_PAGE_RULES = """
html { color-scheme: light dark; }
body { margin: 0; background: light-dark(#ffffff, #14181d); }
main.polygen { max-width: 1080px; margin: 0 auto; padding: 28px clamp(14px, 4vw, 40px) 80px; }
.polygen h1 { font-size: 27px; line-height: 1.25; margin: 0 0 2px; overflow-wrap: anywhere; }
.polygen nav {
  margin: 14px 0 22px; padding: 10px 0; border: solid var(--line); border-width: 1px 0;
}
.polygen nav a { margin-right: 18px; text-decoration: none; display: inline-block; padding: 2px 0; }
.polygen nav a:hover { text-decoration: underline; }
.polygen section { margin: 0 0 14px; }
.polygen section > details > summary { font-size: 18px; padding: 6px 0; }
.polygen section > details > :not(summary) { margin-left: 0; }
.polygen .target { scroll-margin-top: 48px; }
.polygen figure { margin: 8px 0 16px; }
.polygen figure img {
  max-width: 100%; height: auto; display: block; border: 1px solid var(--line); border-radius: 6px;
}
.polygen figcaption { color: var(--soft); font-size: 13px; margin-top: 4px; }
.polygen .facts { color: var(--soft); margin: 0; }
@media print { .polygen nav { display: none; } }
"""


def _above_others(rules: str) -> str:
    """Return rules that win over those that notebooks have for the same elements."""
    return rules.replace(".polygen ", ".polygen.polygen ")


def _for_files(rules: str) -> str:
    """Return what is said of pictures, in colours that every program which draws SVG knows."""
    light = re.compile(r"light-dark\((#\w+), #\w+\)")
    colours = dict(re.findall(r"--(\w+): light-dark\((#\w+)", rules))
    kept = re.findall(r"\.polygen (?=svg )svg ([^{},]*\{[^}]*\})", rules)
    text = light.sub(r"\1", "\n".join(kept))
    return re.sub(r"var\(--(\w+)\)", lambda name: colours[name[1]], text)


# Of a picture in a file of its own.
PICTURE_STYLE = "text { font-family: monospace; }\n" + _for_files(_RULES)
STYLE = _above_others(_RULES)
PAGE_STYLE = _above_others(_PAGE_RULES)
