package run

import (
	"fmt"
	"math"
)

// Micros is an amount of money in millionths of a US dollar.
type Micros int64

// Dollars converts an amount in dollars that an agent or an API gave as a number.
// It returns zero for NaN and the infinities.
func Dollars(d float64) Micros {
	if math.IsNaN(d) || math.IsInf(d, 0) {
		return 0
	}
	return Micros(math.Round(d * 1e6))
}

// String returns the amount in dollars with two decimals, or with four if the
// amount is not a whole number of cents.
func (m Micros) String() string {
	if m%10_000 == 0 {
		return fmt.Sprintf("$%.2f", float64(m)/1e6)
	}
	return fmt.Sprintf("$%.4f", float64(m)/1e6)
}

// String returns tokens and money in short, such as "41k tokens $0.21"; empty if nothing is known to be used.
func (u Usage) String() string {
	if u.TotalTokens == 0 && u.Cost == 0 {
		return ""
	}
	text := shortCount(u.TotalTokens) + " tokens"
	if u.Cost > 0 {
		text += " " + u.Cost.String()
	}
	return text
}

// shortCount returns a number in at most four characters.
func shortCount(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprint(n)
	case n < 10_000:
		return fmt.Sprintf("%.1fk", float64(n)/1000)
	case n < 1000*1000:
		return fmt.Sprintf("%dk", n/1000)
	}
	return fmt.Sprintf("%.1fM", float64(n)/1e6)
}
