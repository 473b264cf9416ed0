package acp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/failure"
)

// offer holds the choices that an agent offers in a session: as modes and models
// of its own, or as options.
type offer struct {
	SessionID string `json:"sessionId"`
	Modes     struct {
		Current   string `json:"currentModeId"`
		Available []item `json:"availableModes"`
	} `json:"modes"`
	Models struct {
		Current   string `json:"currentModelId"`
		Available []item `json:"availableModels"`
	} `json:"models"`
	Options []option `json:"configOptions"`
}

// item is a mode, a model, a value of an option, or a group of such values.
type item struct {
	ID          string `json:"id"`
	ModelID     string `json:"modelId"`
	Value       string `json:"value"`
	Name        string `json:"name"`
	Description string `json:"description"`
	Options     []item `json:"options"`
}

func (i item) itemCode() string { return i.ID + i.ModelID + i.Value } // only one of them is set

// option is an option whose value is a string. Other options have no current value
// here.
type option struct {
	ID       string `json:"id"`
	Category string `json:"category"`
	Current  string `json:"currentValue"`
	Options  []item `json:"options"`
}

// menu is one setting with its possible values.
type menu struct {
	what, current string
	items         []item
	// request returns the request that chooses value; nil if there is nothing to
	// choose.
	request func(id, value string) (method string, params any)
}

func (o offer) modeMenu() menu {
	if m := o.Modes; len(m.Available) > 0 {
		return menu{"mode", m.Current, m.Available, func(id, value string) (string, any) {
			return sdk.AgentMethodSessionSetMode, sdk.SetSessionModeRequest{SessionId: sdk.SessionId(id), ModeId: sdk.SessionModeId(value)}
		}}
	}
	return o.optionMenu("mode")
}

func (o offer) modelMenu() menu {
	if m := o.optionMenu("model"); m.request != nil {
		return m
	}
	if m := o.Models; len(m.Available) > 0 {
		return menu{"model", m.Current, m.Available, func(id, value string) (string, any) {
			return sdk.AgentMethodSessionSetModel, sdk.UnstableSetSessionModelRequest{SessionId: sdk.SessionId(id), ModelId: sdk.UnstableModelId(value)}
		}}
	}
	return menu{what: "model"}
}

func (o offer) optionMenu(category string) menu {
	for _, opt := range o.Options {
		if opt.Category != category && opt.ID != category {
			continue
		}
		m := menu{what: category, current: opt.Current}
		for _, i := range opt.Options {
			if m.items = append(m.items, i.Options...); len(i.Options) == 0 {
				m.items = append(m.items, i)
			}
		}
		m.request = func(id, value string) (string, any) {
			return sdk.AgentMethodSessionSetConfigOption, sdk.SetSessionConfigOptionRequest{ValueId: &sdk.SetSessionConfigOptionValueId{
				SessionId: sdk.SessionId(id), ConfigId: sdk.SessionConfigId(opt.ID), Value: sdk.SessionConfigValueId(value),
			}}
		}
		return m
	}
	return menu{what: category}
}

// modeForSandbox returns the mode for a sandbox; empty leaves it to the agent.
func (o offer) modeForSandbox(sandbox agent.Sandbox, h habits) string {
	codes := []string{h.modes[sandbox]}
	if sandbox == agent.ReadOnly {
		codes = append(codes, "read-only", "plan")
	}
	for _, code := range codes {
		if slices.ContainsFunc(o.modeMenu().items, func(i item) bool { return i.itemCode() == code }) {
			return code
		}
	}
	return ""
}

func (s *session) chooseValue(ctx context.Context, m menu, value string) error {
	if value == "" || value == m.current {
		return nil
	}
	if m.request == nil {
		return newError(failure.BadRequest, false, fmt.Sprintf("the agent does not let you choose a %s", m.what))
	}
	method, params := m.request(s.id, value)
	_, err := callAgent[json.RawMessage](ctx, s.wire, method, params)
	return err
}
