package child

import (
	"encoding/json"
	"reflect"
	"testing"
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
