package catalog

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/provider/chat"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// PricesVariable holds the prices of the APIs' models, in dollars for a
// million tokens: "model=input/output", or
// "model=input/output/cache read/cache write", separated by commas. Prices
// change too often to be built in; without one a model's cost is not known.
const PricesVariable = "RATCHET_PRICES"

// priceOf returns the model's price in the value of the variable.
func priceOf(prices, model string) (chat.Price, error) {
	var found chat.Price
	for entry := range strings.SplitSeq(prices, ",") {
		if entry = strings.TrimSpace(entry); entry == "" {
			continue
		}
		name, figures, ok := strings.Cut(entry, "=")
		price, err := readPrice(figures)
		if !ok || err != nil {
			return chat.Price{}, fmt.Errorf("%s: %q: want model=input/output or model=input/output/cache read/cache write, in dollars for a million tokens", PricesVariable, entry)
		}
		if strings.TrimSpace(name) == model {
			found = price
		}
	}
	return found, nil
}

// readPrice reads two figures or four. With two figures, tokens read from a cache or written to it cost as
// much as any input.
func readPrice(figures string) (chat.Price, error) {
	var amounts []run.Micros
	for text := range strings.SplitSeq(figures, "/") {
		d, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		if err != nil || !(d >= 0 && d < 1e6) {
			return chat.Price{}, fmt.Errorf("invalid price %q", text)
		}
		amounts = append(amounts, run.Dollars(d))
	}
	switch len(amounts) {
	case 2:
		return chat.Price{Input: amounts[0], Output: amounts[1], CacheRead: amounts[0], CacheWrite: amounts[0]}, nil
	case 4:
		return chat.Price{Input: amounts[0], Output: amounts[1], CacheRead: amounts[2], CacheWrite: amounts[3]}, nil
	}
	return chat.Price{}, fmt.Errorf("%d figures", len(amounts))
}
