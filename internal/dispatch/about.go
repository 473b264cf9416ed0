package dispatch

import (
	"cmp"
	"fmt"
)

// About describes the session of ours that a citizen is. Its record cannot: the record of a session that is reached by a
// control socket is of the backend pi, whatever agent works (docs/contracts/dispatch.md, 3).
type About struct {
	// Agent is the kind of the agent, such as claude or codex, and Model its model; empty: its own choice.
	Agent string `json:"agent"`
	Model string `json:"model,omitempty"`
	// Run is the id of the run that the session works for, and Name the run's short name. Session is the id
	// of a standing session. One of Run and Session is set.
	Run     string `json:"run,omitempty"`
	Name    string `json:"runName,omitempty"`
	Session string `json:"session,omitempty"`
	// Role is the role in the run, and Attempt the number of a competing developer, from 1; zero: none competes.
	Role    string `json:"role,omitempty"`
	Attempt int    `json:"attempt,omitempty"`
	Goal    string `json:"goal,omitempty"` // its first line
}

// Who returns the agent and its place, in one line, such as "codex/gpt-5.1, developer of run shop-1".
func (a About) Who() string {
	who := a.Agent
	if a.Model != "" {
		who += "/" + a.Model
	}
	role := a.Role
	if a.Attempt > 0 {
		role += fmt.Sprintf(" %d", a.Attempt)
	}
	switch {
	case a.Run != "":
		return fmt.Sprintf("%s, %s of run %s", who, role, cmp.Or(a.Name, a.Run))
	case a.Session != "":
		return fmt.Sprintf("%s, session %s", who, a.Session)
	}
	return who
}
