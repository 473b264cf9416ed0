package run

import (
	"fmt"
	"math"
)

// Micros is an amount of money in millionths of a US dollar.
type Micros int64

// Dollars converts an amount that an agent or an API gave as a number. What is
// no amount is zero.
func Dollars(d float64) Micros {
	if math.IsNaN(d) || math.IsInf(d, 0) {
		return 0
	}
	return Micros(math.Round(d * 1e6))
}

// String is the amount in dollars: cents, and more digits where they say more.
func (m Micros) String() string {
	if m%10_000 == 0 {
		return fmt.Sprintf("$%.2f", float64(m)/1e6)
	}
	return fmt.Sprintf("$%.4f", float64(m)/1e6)
}
