package webui_test

import (
	"strings"
	"testing"
)

// access lists the faults of the page that keep people out: controls without a name, text that does not stand out from
// what is behind it (WCAG 2.2, 1.4.3: 4.5 to 1, or 3 to 1 for large text), targets that a finger misses (24 pixels,
// 2.5.8; 44 for the buttons of a phone), ids twice, headings out of order, a page without a language or a main part,
// and controls that the keyboard cannot reach.
const access = `
const faults = [];
const visible = (e) => e.checkVisibility({checkOpacity: true, checkVisibilityCSS: true}) && !e.closest("[aria-hidden=true]");
const nameOf = (e) => (e.getAttribute("aria-label") || (e.labels && Array.from(e.labels, (l) => l.innerText).join(" ")) || e.innerText || e.value || e.title || "").trim();
const say = (what, e) => faults.push(what + ": " + e.outerHTML.slice(0, 140));
for (const e of document.querySelectorAll("a[href], button, input:not([type=hidden]), textarea, select, summary")) {
	if (!visible(e)) continue;
	if (e.matches("textarea, input, select") ? !(e.getAttribute("aria-label") || (e.labels && e.labels.length)) : !nameOf(e)) say("no name", e);
	const box = e.getBoundingClientRect();
	if (!e.matches(".no, .skip") && (box.height < 24 || box.width < 24)) say("small target " + box.width + "x" + box.height, e);
	if (e.tabIndex < 0 && !e.matches("button.no")) say("no way to it by keyboard", e);
}
const parse = (c) => { const m = c.match(/[\d.]+/g).map(Number); return m.length < 4 ? [...m, 1] : m; };
const light = ([r, g, b]) => [r, g, b].map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4).reduce((s, v, i) => s + v * [0.2126, 0.7152, 0.0722][i], 0);
const behind = (e) => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); if (c[3] === 1) return c; } return [255, 255, 255, 1]; };
const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
const told = new Set();
let texts = 0;
for (let n = walk.nextNode(); n; n = walk.nextNode()) {
	const e = n.parentElement;
	if (!n.data.trim() || !visible(e)) continue;
	texts++;
	const style = getComputedStyle(e), a = light(parse(style.color)), b = light(behind(e));
	const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), size = parseFloat(style.fontSize);
	const key = style.color + behind(e);
	if (ratio < (size >= 24 || size >= 18.66 && style.fontWeight >= 700 ? 3 : 4.5) && !told.has(key)) { told.add(key); say("contrast " + ratio.toFixed(2), e); }
}
const ids = Array.from(document.querySelectorAll("[id]"), (e) => e.id);
for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) faults.push("id twice: " + id);
let level = 0;
for (const h of document.querySelectorAll("h1, h2, h3, h4")) { const l = +h.tagName[1]; if (l > level + 1) say("heading out of order", h); level = l; }
if (document.querySelectorAll("h1").length !== 1) faults.push("want one h1");
if (!document.documentElement.lang) faults.push("no language");
if (document.querySelectorAll("main").length !== 1) faults.push("want one main");
if (!document.title) faults.push("no title");
for (const d of document.querySelectorAll("[role=status], [role=alert]")) if (d.closest("[aria-hidden=true]")) say("a message that is not read", d);
if (texts < 5) faults.push("only " + texts + " texts: nothing was looked at");
return faults;`

// emulateScheme gives the page dark or light colours.
func (b *browser) emulateScheme(scheme string) {
	b.t.Helper()
	b.post("/goog/cdp/execute", map[string]any{"cmd": "Emulation.setEmulatedMedia", "params": map[string]any{
		"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}},
	}}, nil)
}

// checkAccess holds that the page has no such fault, in light and in dark colours.
func (b *browser) checkAccess(t *testing.T) {
	t.Helper()
	for _, scheme := range []string{"dark", "light"} {
		b.emulateScheme(scheme)
		for _, fault := range eval[[]string](b, access) {
			t.Errorf("in %s colours: %s", scheme, fault)
		}
	}
}

// The check finds each fault that it looks for.
func TestTheAccessCheckFinds(t *testing.T) {
	t.Parallel()
	b := openBrowser(t, 800, 600)
	b.open("data:text/html,<html><body><h1>a</h1><h3 id=x>b</h3><button></button><input id=x><p style='color:%23999;background:%23fff'>pale</p>" +
		"<a href=/ tabindex=-1 style='display:inline-block;width:9px;height:9px'>c</a>")
	got := strings.Join(eval[[]string](b, access), "\n")
	for _, want := range []string{"no name: <button", "no name: <input", "contrast 2.8", "small target 9x9", "no way to it by keyboard", "id twice: x", "heading out of order", "no language", "want one main", "no title"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not found:\n%s", want, got)
		}
	}
}
