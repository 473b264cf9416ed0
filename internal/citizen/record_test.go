package citizen_test

import (
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/citizen"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
)

const (
	gid  = "20260612T093000-0a1b2c"
	gid2 = "20260612T093000-ffffff"

	wantV2 = `{
  "schemaVersion": 2,
  "gardenId": "20260612T093000-0a1b2c",
  "backend": "claude-code",
  "nativeSessionId": "n-1",
  "cwd": "/w/<a&b>",
  "model": null,
  "transcriptPath": "/t.jsonl",
  "parentGardenId": null,
  "isEntwurf": false,
  "createdAt": "2026-06-12T00:30:00.000Z",
  "recordUpdatedAt": "2026-06-12T00:31:00.000Z"
}
`
	wantV1 = `{
  "schemaVersion": 1,
  "gardenId": "20260612T093000-0a1b2c",
  "backend": "claude-code",
  "nativeSessionId": "n-1",
  "transcriptPath": "/t.jsonl",
  "cwd": "/w/<a&b>",
  "createdAt": "2026-06-12T00:30:00.000Z",
  "lastSeen": "2026-06-12T00:31:00.000Z",
  "delivery": {
    "wakeMode": "self-fetch",
    "deliveryLevel": "D6",
    "lastEnqueuedAt": null,
    "lastDeliveredAt": null,
    "lastReadAt": null
  }
}
`
)

// wantV3 has no parent and no isEntwurf.
var wantV3 = strings.NewReplacer(`"schemaVersion": 2`, `"schemaVersion": 3`, "  \"parentGardenId\": null,\n  \"isEntwurf\": false,\n", "").Replace(wantV2)

var want = citizen.Record{
	Version: citizen.V2, GardenID: gid, Backend: dispatch.ClaudeCode, NativeSessionID: "n-1", CWD: "/w/<a&b>",
	TranscriptPath: "/t.jsonl", CreatedAt: "2026-06-12T00:30:00.000Z", UpdatedAt: "2026-06-12T00:31:00.000Z",
}

func TestARecordKeepsItsForm(t *testing.T) {
	full := strings.NewReplacer(`"model": null`, `"model": "opus"`, `"parentGardenId": null`, `"parentGardenId": "`+gid2+`"`,
		`"isEntwurf": false`, `"isEntwurf": true`, "claude-code", "pi", `"/t.jsonl"`, "null").Replace(wantV2)
	for _, text := range []string{wantV2, wantV3, full} {
		r, err := citizen.ParseRecord([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if b, err := r.Marshal(); err != nil || string(b) != text {
			t.Errorf("%s, %v\nwant %s", b, err, text)
		}
	}
	if r, err := citizen.ParseRecord([]byte(wantV2)); err != nil || r != want {
		t.Errorf("%+v, %v\nwant %+v", r, err, want)
	}
}

func TestVersion1IsNormalised(t *testing.T) {
	r, err := citizen.ParseRecord([]byte(wantV1))
	v1 := want
	v1.Version = citizen.V1
	if err != nil || r != v1 {
		t.Errorf("%+v, %v\nwant %+v", r, err, v1)
	}
	if b, err := r.Marshal(); err != nil || string(b) != wantV2 {
		t.Errorf("%s, %v\nwant %s", b, err, wantV2)
	}
}

func TestWhatIsNoRecord(t *testing.T) {
	rows := []struct {
		name     string
		of       string
		old, new string // replaced in it; an empty new removes
	}{
		{"not JSON", wantV2, "{", ""},
		{"an array", wantV2, wantV2, "[]"},
		{"null", wantV2, wantV2, "null"},
		{"a text", wantV2, wantV2, `"x"`},
		{"empty", wantV2, wantV2, ""},
		{"two records", wantV2, "}\n", "}{}"},
		{"a stray member", wantV2, "{", `{"note": "x",`},
		{"a member of version 1", wantV2, "{", `{"lastSeen": "x",`},
		{"a delivery of version 1", wantV2, "{", `{"delivery": {},`},
		{"a member in other letters", wantV2, `"cwd"`, `"CWD"`},
		{"another version", wantV2, ": 2,", ": 4,"},
		{"version 0", wantV2, ": 2,", ": 0,"},
		{"a version that is a text", wantV2, ": 2,", `: "2",`},
		{"no version", wantV2, `"schemaVersion": 2,`, ""},
		{"no garden id", wantV2, `"gardenId": "20260612T093000-0a1b2c",`, ""},
		{"a garden id in capitals", wantV2, "0a1b2c", "0A1B2C"},
		{"a garden id that is too short", wantV2, "0a1b2c", "0a1b2"},
		{"a garden id that leads elsewhere", wantV2, "20260612T093000", "../20260612T093000"},
		{"a garden id that is null", wantV2, `"20260612T093000-0a1b2c"`, "null"},
		{"an unknown backend", wantV2, "claude-code", "gemini"},
		{"a backend in other letters", wantV2, "claude-code", "Claude-Code"},
		{"an empty native id", wantV2, `"n-1"`, `""`},
		{"a native id that is a number", wantV2, `"n-1"`, `1`},
		{"an empty directory", wantV2, `"/w/<a&b>"`, `""`},
		{"an empty model", wantV2, `"model": null`, `"model": ""`},
		{"no model", wantV2, `"model": null,`, ""},
		{"an empty transcript", wantV2, `"/t.jsonl"`, `""`},
		{"a parent that is no garden id", wantV2, `"parentGardenId": null`, `"parentGardenId": "x"`},
		{"no parent", wantV2, `"parentGardenId": null,`, ""},
		{"a flag that is a text", wantV2, "false", `"false"`},
		{"a flag that is null", wantV2, "false", "null"},
		{"an empty stamp", wantV2, `"2026-06-12T00:31:00.000Z"`, `""`},
		{"a stamp that is a number", wantV2, `"2026-06-12T00:30:00.000Z"`, `1`},

		{"version 1 without a transcript", wantV1, `"/t.jsonl"`, "null"},
		{"version 1 of pi", wantV1, "claude-code", "pi"},
		{"version 1 with the wake mode of another backend", wantV1, "self-fetch", "direct-inject"},
		{"version 1 with a delivery that is an array", wantV1, `"delivery": {`, `"delivery": [], "x": {`},
		{"version 1 without a last sighting", wantV1, `"lastSeen"`, `"lastSeem"`},

		{"version 3 with a parent", wantV3, "{", `{"parentGardenId": null,`},
		{"version 3 with a flag", wantV3, "{", `{"isEntwurf": false,`},
		{"version 3 without an update", wantV3, `"recordUpdatedAt"`, `"lastSeen"`},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			text := strings.Replace(row.of, row.old, row.new, 1)
			if text == row.of {
				t.Fatalf("%s is not in it", row.old)
			}
			if r, err := citizen.ParseRecord([]byte(text)); err == nil {
				t.Errorf("read as %+v:\n%s", r, text)
			}
		})
	}
}

func TestWhatIsNeverWritten(t *testing.T) {
	rows := map[string]func(*citizen.Record){
		"no garden id":     func(r *citizen.Record) { r.GardenID = "" },
		"no backend":       func(r *citizen.Record) { r.Backend = "" },
		"no native id":     func(r *citizen.Record) { r.NativeSessionID = "" },
		"no directory":     func(r *citizen.Record) { r.CWD = "" },
		"a foreign parent": func(r *citizen.Record) { r.ParentGardenID = "x" },
	}
	for name, change := range rows {
		r := want
		change(&r)
		if b, err := r.Marshal(); err == nil {
			t.Errorf("%s: %s", name, b)
		}
	}
}
