package child

import (
	"encoding/json"
	"errors"
	"maps"
	"strings"
)

// mergeTokens returns the text outside with the tokens inside of each entry that the box has renewed and no
// program outside has; back says whether there are any. Base is the text outside of the time before. It leaves
// out GitHub Copilot: its token names the server that gets the prompts, and each session can renew it by itself.
func mergeTokens(base, inside, outside []byte) (merged []byte, back bool, err error) {
	was, err1 := parseLogins(base)
	in, err2 := parseLogins(inside)
	out, err3 := parseLogins(outside)
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, false, err
	}
	for name, entry := range out {
		old, kept, renewed := readTokens(name, was[name]), readTokens(name, entry), readTokens(name, in[name])
		if old == nil || renewed == nil || !maps.Equal(kept, old) || maps.Equal(renewed, old) || strings.HasPrefix(name, "github-copilot") {
			continue
		}
		if out[name], err = putTokens(entry, renewed); err != nil {
			return nil, false, err
		}
		back = true
	}
	if !back {
		return outside, false, nil
	}
	merged, err = json.MarshalIndent(out, "", "  ")
	return merged, true, err
}

// parseLogins returns the entries of a file of credentials.
func parseLogins(text []byte) (logins map[string]json.RawMessage, err error) {
	err = json.Unmarshal(text, &logins)
	return logins, err
}

// tokens are the members of an entry that a renewal changes, by their names: texts, and a time.
type tokens map[string]any

// forms are the names of these members: of pi and opencode, whose entries have the type oauth, of Claude Code and
// of Codex. A time is a number.
var forms = []struct {
	entry, time string // the name of the entry, if it is always the same
	texts       []string
}{
	{"", "expires", []string{"access", "refresh"}},
	{"claudeAiOauth", "expiresAt", []string{"accessToken", "refreshToken"}},
	{"tokens", "", []string{"id_token", "access_token", "refresh_token"}},
}

// readTokens returns the renewable tokens of an entry; nil: it has none.
func readTokens(name string, entry json.RawMessage) tokens {
	var members map[string]json.RawMessage
	if json.Unmarshal(entry, &members) != nil {
		return nil
	}
	for _, form := range forms {
		if form.entry == name || form.entry == "" && string(members["type"]) == `"oauth"` {
			return takeTokens(members, form.time, form.texts)
		}
	}
	return nil
}

func takeTokens(members map[string]json.RawMessage, time string, texts []string) tokens {
	t := tokens{}
	for _, name := range texts {
		var text string
		if json.Unmarshal(members[name], &text) != nil || text == "" {
			return nil
		}
		t[name] = text
	}
	var at float64
	if time != "" && json.Unmarshal(members[time], &at) != nil {
		return nil
	}
	if time != "" {
		t[time] = at
	}
	return t
}

// putTokens returns an entry with these tokens.
func putTokens(entry json.RawMessage, t tokens) (json.RawMessage, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(entry, &members); err != nil {
		return nil, err
	}
	for name, value := range t {
		text, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		members[name] = text
	}
	return json.Marshal(members)
}
