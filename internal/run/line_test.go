package run_test

import (
	"reflect"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/run"
)

func TestMessagesOfOneLine(t *testing.T) {
	for line, want := range map[string]run.Decision{
		"approve apr-1-a":                       {ApprovalID: "apr-1-a", Decision: run.Approve},
		" approve  apr-1-a  looks right ":       {ApprovalID: "apr-1-a", Decision: run.Approve, Reason: "looks right"},
		"session apr-1-a":                       {ApprovalID: "apr-1-a", Decision: run.Approve, Session: true},
		"reject apr-1-a keep the old name, kim": {ApprovalID: "apr-1-a", Decision: run.Reject, Reason: "keep the old name, kim"},
		"end apr-1-a":                           {ApprovalID: "apr-1-a", Decision: run.Reject, Final: true},
		"":                                      {}, "approve": {}, "approved apr-1-a": {}, "APPROVE apr-1-a": {}, "yes": {}, "apr-1-a": {}, "not a decision": {},
	} {
		d, err := run.ParseDecision(line)
		if !reflect.DeepEqual(d, want) || (err == nil) != (want.ApprovalID != "") {
			t.Errorf("%q: %+v, %v", line, d, err)
		}
	}
	for line, want := range map[string]run.Reply{"qst-1-1 cut it": {QuestionID: "qst-1-1", Text: "cut it"}, "qst-1-1": {}, "cut it": {}, "": {}} {
		if r, err := run.ParseReply(line); !reflect.DeepEqual(r, want) || (err == nil) != (want.Text != "") {
			t.Errorf("%q: %+v, %v", line, r, err)
		}
	}
}
