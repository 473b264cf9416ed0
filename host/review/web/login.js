// Redeems the code in the page's own address, which a browser does not send. Opening a link in a tab that
// shows this page changes only the address.
'use strict';
const shortLink = '/l/';
async function redeem() {
  const short = location.pathname.startsWith(shortLink);
  const given = short ? location.pathname.slice(shortLink.length) : location.hash.slice(1);
  if (!short && location.pathname !== '/login' || given === '') return;
  const slash = given.indexOf('/');
  const code = slash < 0 ? given : given.slice(0, slash);
  history.replaceState(null, '', '/login');
  const answer = await fetch('/login', {method: 'POST', body: code});
  const text = await answer.text();
  const to = new URL(short ? text || '/' : slash < 0 ? '/' : given.slice(slash), location.origin);
  if (answer.ok && to.origin === location.origin) {
    chooseColumns();
    location.replace(to);
  } else document.getElementById('message').textContent = text;
}

// The Web UI's list of workflows has a column for each of these, unless this browser has chosen others.
const columns = ['Status', 'RatchetTitle', 'RatchetStatus', 'Workflow ID', 'RatchetRepository', 'Start', 'End'];
function chooseColumns() {
  const key = 'namespace-workflow-table-columns'; // of Temporal's Web UI 2.x: an object of lists by namespace
  try {
    if (localStorage.getItem(key) === null) localStorage.setItem(key, JSON.stringify({default: columns.map((label) => ({label}))}));
  } catch { /* a browser that keeps nothing shows the usual columns */ }
}

window.addEventListener('hashchange', redeem);
redeem();
