package settings

import (
	"github.com/ratchet-dev/ratchet/internal/notify"
)

// noticeTable names the table of a user's file that says how the user is notified about runs.
const noticeTable = "notify"

// noticesElsewhere is the fault of a table of notices in a place where it does not count.
const noticesElsewhere = "notify calls programs and addresses outside of the sandbox: it is allowed only as a table [notify] in your own config.toml"

// The keys of the table of notices.
const (
	NoticeCommand = "command" // for the shell
	NoticeWebhook = "webhook" // URL
	NoticeBell    = "bell"    // of terminals
)

var noticeKeys = []key{
	{name: NoticeCommand, kind: text, lines: true},
	{name: NoticeWebhook, kind: text, check: notify.CheckURL},
	{name: NoticeBell, kind: boolean},
}

func (d document) readNotices(v any) (Values, error) {
	name := joinKey("", noticeTable)
	table, ok := v.(map[string]any)
	if !ok {
		return nil, &lineError{d.path, d.lines[name], "notify must be a table: write [notify], and below it command, webhook or bell"}
	}
	return d.readTable(name, table, noticeKeys)
}

// Bell reports whether terminals ring, and notify by a sequence, when a run needs the user or has ended. They
// do unless the file says otherwise.
func (f File) Bell() bool {
	v, ok := f.Notices[NoticeBell]
	return !ok || v.Texts[0] == "true"
}
