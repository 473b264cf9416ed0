package eventually

import (
	"flag"
	"runtime"
	"strconv"
	"testing"
)

// RunTests runs the tests of a package that mostly wait, for engines and processes: at least so many of those that may
// run beside each other do, unless -parallel says how many. It returns the exit code.
func RunTests(m *testing.M, atLeast int) int {
	flag.Parse()
	if limit := flag.Lookup("test.parallel"); limit.Value.String() == limit.DefValue {
		if err := limit.Value.Set(strconv.Itoa(max(atLeast, runtime.GOMAXPROCS(0)))); err != nil {
			panic(err)
		}
	}
	return m.Run()
}
