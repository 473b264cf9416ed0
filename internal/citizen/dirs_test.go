package citizen_test

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/citizen"
)

func lookup(vars map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		value, ok := vars[name]
		return value, ok
	}
}

func TestFindDirs(t *testing.T) {
	work, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	with := func(change func(*citizen.Dirs)) citizen.Dirs {
		d := citizen.Dirs{
			Home: "/h", Agent: "/h/.pi/agent",
			Sessions: "/h/.pi/agent/meta-sessions", Mailboxes: "/h/.pi/agent/meta-mailbox",
			Senders: "/h/.pi/agent/meta-senders", Receivers: "/h/.pi/agent/meta-receivers",
			Sockets: "/h/.pi/entwurf-control", Locks: "/h/.pi/entwurf-v2-locks", Trust: "/h/.pi/agent/trust.json",
		}
		change(&d)
		return d
	}
	rows := []struct {
		name string
		vars map[string]string
		want citizen.Dirs
	}{
		{"no overrides", nil, with(func(*citizen.Dirs) {})},
		{"empty ones", map[string]string{"PI_META_SESSIONS_DIR": "", "PI_CODING_AGENT_DIR": "", "ENTWURF_DIR": "", "PI_ENTWURF_PREFIX_ROOTS": ""}, with(func(*citizen.Dirs) {})},
		{"pi's own directory moves what lies in it", map[string]string{"PI_CODING_AGENT_DIR": "~/a"}, with(func(d *citizen.Dirs) {
			d.Agent, d.Sessions, d.Mailboxes, d.Trust = "/h/a", "/h/a/meta-sessions", "/h/a/meta-mailbox", "/h/a/trust.json"
			d.Senders, d.Receivers = "/h/a/meta-senders", "/h/a/meta-receivers"
		})},
		{"each on its own", map[string]string{
			"PI_META_SESSIONS_DIR": "/1", "PI_META_MAILBOX_DIR": "/2/", "PI_META_SENDERS_DIR": "/3/../33", "PI_META_RECEIVERS_DIR": "~", "PI_ENTWURF_DIR": "~/5",
		}, with(func(d *citizen.Dirs) {
			d.Sessions, d.Mailboxes, d.Senders, d.Receivers, d.Sockets = "/1", "/2", "/33", "/h", "/h/5"
		})},
		{"by their later names, which win", map[string]string{
			"ENTWURF_META_SESSIONS_DIR": "/1", "ENTWURF_META_MAILBOX_DIR": "/2", "ENTWURF_META_SENDERS_DIR": "/3",
			"ENTWURF_META_RECEIVERS_DIR": "/4", "ENTWURF_DIR": "/5", "PI_ENTWURF_DIR": "/old", "PI_META_SESSIONS_DIR": "/old",
		}, with(func(d *citizen.Dirs) {
			d.Sessions, d.Mailboxes, d.Senders, d.Receivers, d.Sockets = "/1", "/2", "/3", "/4", "/5"
		})},
		{"one wins over pi's own directory", map[string]string{"PI_CODING_AGENT_DIR": "/a", "PI_META_MAILBOX_DIR": "/2"}, with(func(d *citizen.Dirs) {
			d.Agent, d.Sessions, d.Mailboxes, d.Trust = "/a", "/a/meta-sessions", "/2", "/a/trust.json"
			d.Senders, d.Receivers = "/a/meta-senders", "/a/meta-receivers"
		})},
		{"a relative one", map[string]string{"PI_META_MAILBOX_DIR": "m"}, with(func(d *citizen.Dirs) { d.Mailboxes = filepath.Join(work, "m") })},
		{"another user's home is no ~", map[string]string{"PI_META_MAILBOX_DIR": "/x/~kim"}, with(func(d *citizen.Dirs) { d.Mailboxes = "/x/~kim" })},
		{"roots", map[string]string{"PI_ENTWURF_PREFIX_ROOTS": " ~/repos : : /srv/x ::rel"}, with(func(d *citizen.Dirs) {
			d.PrefixRoots = []string{"/h/repos", "/srv/x", "rel"}
		})},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			vars := map[string]string{"HOME": "/h/"}
			for name, value := range row.vars {
				vars[name] = value
			}
			got, err := citizen.FindDirs(lookup(vars))
			if err != nil || !reflect.DeepEqual(got, row.want) {
				t.Errorf("%+v, %v\nwant %+v", got, err, row.want)
			}
		})
	}
	for _, home := range []string{"", "relative"} {
		if d, err := citizen.FindDirs(lookup(map[string]string{"HOME": home})); err == nil {
			t.Errorf("HOME %q: %+v", home, d)
		}
	}
	d := with(func(*citizen.Dirs) {})
	if got := d.Socket("20260612T120000-aaaaaa"); got != "/h/.pi/entwurf-control/20260612T120000-aaaaaa.sock" {
		t.Error(got)
	}
	if got := d.Mailbox("20260612T120000-aaaaaa"); got != "/h/.pi/agent/meta-mailbox/20260612T120000-aaaaaa" {
		t.Error(got)
	}
}
