package delivery

// View describes the active turn of a thread, as far as it is known: seven fields, of which a steer
// needs all. An absent field is nil. Thread, Session and Epoch say of what and by whom the view was made.
type View struct {
	Thread  string `json:"thread"`
	Session string `json:"session"`
	Epoch   int    `json:"epoch"`

	// ID is the one turn that is in progress; nil if there is none or more than one.
	ID               *string   `json:"active_turn_id,omitempty"`
	Kind             *TurnKind `json:"active_turn_kind,omitempty"`
	RequiresApproval *bool     `json:"active_turn_requires_approval,omitempty"`
	RequiresNetwork  *bool     `json:"active_turn_requires_network,omitempty"`
	RequiresWrite    *bool     `json:"active_turn_requires_write_access,omitempty"`
	RiskClass        *Risk     `json:"active_turn_risk_class,omitempty"`
	Steerable        *bool     `json:"active_turn_steerable,omitempty"`
}

// Whole reports whether all seven fields are there.
func (v View) Whole() bool {
	return v.ID != nil && *v.ID != "" && v.Kind != nil && v.RequiresApproval != nil &&
		v.RequiresNetwork != nil && v.RequiresWrite != nil && v.RiskClass != nil && v.Steerable != nil
}

// Risk returns the class that follows from the whole view. A view that contradicts itself is mixed.
func (v View) Risk() Risk {
	switch {
	case !v.Whole():
		return UnknownRisk
	case *v.RiskClass != LowRisk:
		return *v.RiskClass
	case *v.RequiresApproval || *v.RequiresNetwork || *v.RequiresWrite || *v.Kind != RegularTurn:
		return MixedRisk
	}
	return LowRisk
}
