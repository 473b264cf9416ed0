package newrun

import (
	"fmt"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/provider/catalog"
	"github.com/ratchet-dev/ratchet/starter/internal/settings"
)

// MayName refuses a provider that only a person names, as a repository's file may not name it.
func MayName(provider string) error {
	if _, err := catalog.Parse(provider); err != nil {
		return err
	}
	if why := settings.Loosens("provider", provider); why != "" {
		return fmt.Errorf("%s %s: a person names it, in the settings or by `starter run`; name an agent or a model, such as claude", display.OneLine(provider, 200), why)
	}
	return nil
}
