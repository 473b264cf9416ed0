package catalog_test

import (
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/provider/catalog"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest/fakemodel"
	"github.com/ratchet-dev/ratchet/internal/test/providertest"
)

func TestPricesMakeCosts(t *testing.T) {
	model := fakemodel.Start(t)
	req := providertest.Request()
	req.Prompt.User = "[[usage:1000,100]][[say:done]]"
	for name, tc := range map[string]struct {
		prices string
		cost   run.Micros
		says   string
	}{
		"no prices":             {"", 0, ""},
		"of another model":      {"other=3/15", 0, ""},
		"two figures":           {"other=1/1, fake-model=3/15", 4500, ""},
		"four figures":          {"fake-model=3/15/0.3/3.75", 4500, ""},
		"the last one counts":   {"fake-model=3/15,fake-model=6/30", 9000, ""},
		"a word for a figure":   {"fake-model=cheap", 0, `RATCHET_PRICES: "fake-model=cheap": want model=input/output`},
		"a price below zero":    {"fake-model=-1/2", 0, "want model=input/output"},
		"three figures":         {"fake-model=1/2/3", 0, "want model=input/output"},
		"a model without any":   {"fake-model", 0, "want model=input/output"},
		"a wrong one elsewhere": {"other=x,fake-model=3/15", 0, `"other=x"`},
	} {
		for _, kind := range []string{"anthropic", "openai"} {
			t.Run(name+", "+kind, func(t *testing.T) {
				spec, err := catalog.Parse(kind + ":fake-model")
				if err != nil {
					t.Fatal(err)
				}
				p, err := spec.Open(catalog.Env{Environ: []string{
					"ANTHROPIC_API_KEY=dummy-key-0000", "ANTHROPIC_BASE_URL=" + model.URL,
					"OPENAI_API_KEY=dummy-key-0000", "OPENAI_BASE_URL=" + model.URL + "/v1", catalog.PricesVariable + "=" + tc.prices,
				}})
				if tc.says != "" {
					if err == nil || !strings.Contains(err.Error(), tc.says) {
						t.Errorf("got %v, want %q", err, tc.says)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				resp, err := p.Generate(t.Context(), req, nil)
				if err != nil || resp.Usage == nil || resp.Usage.Cost != tc.cost {
					t.Errorf("usage %+v, %v: want %v", resp.Usage, err, tc.cost)
				}
			})
		}
	}
}
