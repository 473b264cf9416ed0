// The page works without this. With it the page follows the run, lines take remarks, and keys decide.
'use strict';
(() => {
  const $ = (id) => document.getElementById(id);

  // live: an event says that the record has changed. The parts of the page that changed are replaced; what a person
  // has written or opened stays.
  const path = document.body.dataset.live;
  const own = path ? path.slice(0, -'/live'.length) || '/' : ''; // of the page; a refused form has another address
  let source, loading = false, again = false;

  async function refresh() {
    if (loading) { again = true; return; }
    loading = true;
    try {
      const url = new URL(own, location.origin);
      for (const name of ['approval', 'repo']) {
        const value = new URLSearchParams(location.search).get(name);
        if (value) url.searchParams.set(name, value);
      }
      const shown = $('gate') ? $('gate').dataset.wait : ''; // need not be sent again
      const answer = await fetch(url, {headers: {Accept: 'text/html', 'Ratchet-Shown': shown}, redirect: 'error'});
      if (answer.status === 401) { tell('You are logged out: `starter page` prints a new link.'); source && source.close(); return; }
      if (!answer.ok) return;
      const fresh = new DOMParser().parseFromString(await answer.text(), 'text/html');
      for (const part of fresh.querySelectorAll('[data-part]')) put(part);
      document.title = fresh.title;
      if (!fresh.body.dataset.live && source) source.close();
      document.body.dataset.at = String(performance.timeOrigin + performance.now());
    } catch (e) { /* the stream tells of the next change */ } finally {
      loading = false;
      if (again) { again = false; refresh(); }
    }
  }

  function put(part) {
    const now = $(part.id);
    if (!now || now.isEqualNode(part)) return;
    if ('keep' in part.dataset && (part.childElementCount > 0 || written(now))) return; // what is written there stays
    if (part.id === 'gate') {
      if (now.dataset.wait === part.dataset.wait) return; // the same patch: what is written to it stays
      if (written(now)) { tell('This was decided elsewhere. Load the page again.'); return; }
    }
    for (const d of now.querySelectorAll('details[id]')) {
      const other = Array.from(part.querySelectorAll('details[id]')).find((x) => x.id === d.id);
      if (other) other.open = d.open;
    }
    if (part.id === 'gate') document.querySelectorAll('.said, .wrong').forEach((p) => p.remove()); // of what was there before
    now.replaceWith(document.adoptNode(part));
  }

  // typed tells a field that a person has written into; the field of the patch begins with the patch itself.
  const typed = (t) => t.value.trim() !== '' && (t.id !== 'patch' || 'draft' in t.dataset || t.value !== t.defaultValue);
  const written = (el) => Array.from(el.querySelectorAll('textarea')).some(typed);

  function tell(text) {
    $('stale').textContent = text;
    $('stale').hidden = false;
  }

  function follow() {
    if (!path || document.hidden || source) return;
    source = new EventSource(path);
    source.addEventListener('changed', refresh);
    source.addEventListener('beat', refresh);
    source.onerror = () => { if (source.readyState === EventSource.CLOSED) { source = null; setTimeout(follow, 3000); } };
  }
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) { source && source.close(); source = null; } else follow();
  });
  follow();

  // remarks: a line's number opens a field below it, which belongs to the form of the decision.
  document.addEventListener('click', (e) => {
    const opener = e.target.closest('[data-open]');
    if (opener) {
      e.preventDefault();
      openBack();
      return;
    }
    const no = e.target.closest('button.no');
    if (no) remarkAt(no);
  });

  function openBack() {
    const back = $('back');
    back.open = true;
    back.scrollIntoView({block: 'center'});
    $('reason').focus();
  }

  function remarkAt(no) {
    const line = no.closest('.ln'), part = no.closest('[data-file]'), file = part.dataset.file;
    const name = `remark:${no.dataset.side}:${no.dataset.line}:${file}`;
    const there = Array.from(document.querySelectorAll('textarea')).find((t) => t.name === name);
    if (there) { there.focus(); return; }
    const box = document.createElement('div');
    box.className = 'remark';
    const field = document.createElement('textarea');
    field.name = name;
    field.rows = 2;
    field.maxLength = 4000;
    field.setAttribute('aria-label', `Comment on ${part.querySelector('.fname').textContent}, line ${no.dataset.line}`);
    const drop = document.createElement('button');
    drop.type = 'button';
    drop.textContent = 'Remove';
    drop.addEventListener('click', () => { box.remove(); count(); no.focus(); });
    field.addEventListener('input', count);
    box.append(field, drop);
    line.after(box);
    field.focus();
    count();
  }

  function count() {
    const n = Array.from(document.querySelectorAll('.remark textarea')).filter((t) => t.value.trim() !== '').length;
    $('remarks').textContent = n === 0 ? '' : n === 1 ? 'and one comment at a line' : `and ${n} comments at lines`;
    if (n > 0) $('back').open = true;
  }

  // a yes beside comments asks first what to do with them
  document.addEventListener('click', (e) => {
    const yes = e.target.closest('#decide button[name=verb][value=approve], #decide button[name=verb][value=session]');
    if (!yes) return;
    const n = Array.from(document.querySelectorAll('#decide textarea')).filter(typed).length;
    if (n === 0) return;
    e.preventDefault();
    $('asked').textContent = n === 1 ? $('asked').dataset.one : $('asked').dataset.many.replace('#', n);
    $('ask').hidden = false;
    $('ask').querySelector('button').focus();
  });

  // a form is sent once
  document.addEventListener('submit', (e) => {
    if (e.target.dataset.sent) { e.preventDefault(); return; }
    e.target.dataset.sent = '1';
  });
  window.addEventListener('pageshow', () => { for (const f of document.forms) delete f.dataset.sent; });

  // keys: j and k walk over the lines, c comments, y applies after a look, n sends back
  let at = -1;
  document.addEventListener('keydown', (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || e.target.closest('textarea, input, select')) return;
    const lines = Array.from(document.querySelectorAll('#decide button.no')).filter((b) => b.offsetParent);
    switch (e.key) {
      case 'j': at = Math.min(at + 1, lines.length - 1); break;
      case 'k': at = Math.max(at - 1, 0); break;
      case 'c': if (lines[at]) { e.preventDefault(); remarkAt(lines[at]); } return;
      case 'n': if ($('back')) { e.preventDefault(); openBack(); } return;
      case 'y': { const b = document.querySelector('.bar .primary'); if (b) { e.preventDefault(); b.focus(); } return; }
      default: return;
    }
    if (lines[at]) { e.preventDefault(); lines[at].focus(); lines[at].scrollIntoView({block: 'center'}); }
  });
})();
