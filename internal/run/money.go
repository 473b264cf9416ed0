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
