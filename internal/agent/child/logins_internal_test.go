package child

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"
)

func TestMergeTokens(t *testing.T) {
	const old = `{"a":{"type":"oauth","access":"1","refresh":"1","expires":1,"accountId":"me"},"k":{"type":"api_key","key":"sk"}}`
	renewed := func(access string) string {
		return `{"a":{"type":"oauth","access":"` + access + `","refresh":"2","expires":1763000000000,"accountId":"me"},"k":{"type":"api_key","key":"sk"}}`
	}
	for name, tt := range map[string]struct{ base, inside, outside, want string }{
		"nothing is renewed":              {old, old, old, old},
		"the box renews":                  {old, renewed("2"), old, renewed("2")},
		"another session renews":          {old, old, renewed("3"), renewed("3")},
		"both renew":                      {old, renewed("2"), renewed("3"), renewed("3")},
		"a key becomes a command":         {old, `{"k":{"type":"api_key","key":"!evil"}}`, old, old},
		"other members are kept":          {old, `{"a":{"type":"oauth","access":"2","refresh":"2","expires":1763000000000,"accountId":"evil","env":{}}}`, old, renewed("2")},
		"an entry is added":               {`{}`, old, `{}`, `{}`},
		"an entry that the user removed":  {old, renewed("2"), `{}`, `{}`},
		"an entry that the user adds":     {`{}`, renewed("2"), old, old},
		"an entry of another type":        {old, `{"a":{"type":"wellknown","key":"K","token":"t","access":"2","refresh":"2","expires":2}}`, old, old},
		"a key that becomes tokens":       {old, `{"k":{"type":"oauth","access":"2","refresh":"2","expires":2}}`, old, old},
		"a member in another letter case": {old, `{"a":{"type":"oauth","Access":"2","refresh":"2","expires":2}}`, old, old},
		"a time without an end":           {old, `{"a":{"type":"oauth","access":"2","refresh":"2","expires":1e999}}`, old, old},
		"tokens that name a server": {`{"github-copilot":{"type":"oauth","access":"1","refresh":"1","expires":1}}`, `{"github-copilot":{"type":"oauth","access":"proxy-ep=evil","refresh":"1","expires":2}}`,
			`{"github-copilot":{"type":"oauth","access":"1","refresh":"1","expires":1}}`, `{"github-copilot":{"type":"oauth","access":"1","refresh":"1","expires":1}}`},
		"of Claude Code": {`{"claudeAiOauth":{"accessToken":"1","refreshToken":"1","expiresAt":1,"scopes":["a"]}}`, `{"claudeAiOauth":{"accessToken":"2","refreshToken":"2","expiresAt":2,"scopes":["evil"]},"pluginSecrets":{"p":"evil"}}`,
			`{"claudeAiOauth":{"accessToken":"1","refreshToken":"1","expiresAt":1,"scopes":["a"]}}`, `{"claudeAiOauth":{"accessToken":"2","refreshToken":"2","expiresAt":2,"scopes":["a"]}}`},
		"of Codex": {`{"OPENAI_API_KEY":null,"tokens":{"id_token":"1","access_token":"1","refresh_token":"1","account_id":"me"},"last_refresh":"1"}`, `{"OPENAI_API_KEY":"evil","tokens":{"id_token":"2","access_token":"2","refresh_token":"2","account_id":"evil"},"last_refresh":"2"}`,
			`{"OPENAI_API_KEY":null,"tokens":{"id_token":"1","access_token":"1","refresh_token":"1","account_id":"me"},"last_refresh":"1"}`, `{"OPENAI_API_KEY":null,"tokens":{"id_token":"2","access_token":"2","refresh_token":"2","account_id":"me"},"last_refresh":"1"}`},
		"a text that is being written": {old, `{"a":`, old, ""},
	} {
		merged, _, err := mergeTokens([]byte(tt.base), []byte(tt.inside), []byte(tt.outside))
		if (err != nil) != (tt.want == "") {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil {
			continue
		}
		var got, want any
		if err := json.Unmarshal(merged, &got); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(tt.want), &want); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %s, want %s", name, merged, tt.want)
		}
	}
}

// A worker that was killed leaves copies of tokens. The next box removes them, and neither those of a worker that
// lives nor those that were just made.
func TestCopiesOfAKilledWorkerAreRemoved(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	live, remove, err := makeCopies(nil)
	if err != nil {
		t.Fatal(err)
	}
	killed, made := filepath.Join(os.TempDir(), copiesPrefix+"1"), filepath.Join(os.TempDir(), copiesPrefix+"2")
	for _, dir := range []string{killed, made} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "0"), []byte("token"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	old := time.Now().Add(-2 * newest)
	for _, dir := range []string{live, killed} {
		if err := os.Chtimes(dir, old, old); err != nil {
			t.Fatal(err)
		}
	}
	next, removeNext, err := makeCopies(nil)
	if err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]bool{live: true, killed: false, made: true, next: true} {
		if _, err := os.Stat(dir); (err == nil) != want {
			t.Errorf("%s: %v, want it there: %t", dir, err, want)
		}
	}
	remove()
	removeNext()
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) != 1 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// A worker that was killed has not taken back the last renewed tokens. The next one does, before it removes the copies.
func TestTokensOfAKilledWorkerAreTakenBack(t *testing.T) {
	text := func(tokens string) string {
		return `{"a":{"type":"oauth","access":"` + tokens + `","refresh":"` + tokens + `","expires":1}}`
	}
	for name, tt := range map[string]struct {
		taken, inside, outside string // the tokens: taken back before, in the copy and in the file at the end
		mode                   os.FileMode
		want                   string
	}{
		"the box has renewed them":             {"", "2", "1", 0o700, "2"},
		"it has renewed them twice":            {"2", "3", "2", 0o700, "3"},
		"another session has renewed them":     {"", "2", "3", 0o700, "3"},
		"nothing is renewed":                   {"", "1", "1", 0o700, "1"},
		"another user may have made the copy":  {"", "2", "1", 0o777, "1"},
		"the copy was being written":           {"", `"`, "1", 0o700, "1"},
		"another session renewed after a turn": {"2", "2", "3", 0o700, "3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			write := func(path, tokens string) {
				if err := os.WriteFile(path, []byte(text(tokens)), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			own, path := filepath.Join(os.TempDir(), copiesPrefix+"1"), filepath.Join(t.TempDir(), "auth.json")
			if err := os.Mkdir(own, 0o700); err != nil {
				t.Fatal(err)
			}
			write(path, "1")
			l, err := lendFile(Login{File: path}, filepath.Join(own, "0"))
			if err != nil {
				t.Fatal(err)
			}
			if tt.taken != "" {
				write(l.copy, tt.taken)
				l.exchange(0)
			}
			write(l.copy, tt.inside)
			write(path, tt.outside)
			old := time.Now().Add(-2 * newest)
			if err := errors.Join(os.Chmod(own, tt.mode), os.Chtimes(own, old, old)); err != nil {
				t.Fatal(err)
			}
			_, remove, err := makeCopies(nil)
			if err != nil {
				t.Fatal(err)
			}
			defer remove()
			logins, err := os.ReadFile(path)
			if err != nil || readTokens("a", mustParse(t, logins)["a"])["access"] != tt.want {
				t.Errorf("the file holds %s, %v", logins, err)
			}
			if _, err := os.Stat(own); (err == nil) != (tt.mode != 0o700) {
				t.Errorf("the copies: %v", err)
			}
		})
	}
}

func mustParse(t *testing.T, text []byte) map[string]json.RawMessage {
	t.Helper()
	logins, err := parseLogins(text)
	if err != nil {
		t.Fatal(err)
	}
	return logins
}
