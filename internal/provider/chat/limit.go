package chat

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/ratchet-dev/ratchet/internal/failure"
)

// maxLimited is the longest wait that an API may ask for. A longer wait is shortened to it.
const maxLimited = 31 * 24 * time.Hour

// limitError returns a *failure.Limited for a rate limit that ends later than a retry may wait. For other
// errors it sets the retry's wait from the headers. named is the wait that the error's text names.
func limitError(e *failure.Error, header http.Header, named time.Duration, now time.Time) error {
	if e.Code != failure.RateLimit || !e.Retriable {
		return e
	}
	wait := max(readRetryAfter(header, now), untilReset(header, now), min(named, maxLimited))
	if wait > failure.MaxRetryAfter {
		return &failure.Limited{Until: now.Add(wait), Cause: e}
	}
	e.RetryAfter = cmp.Or(e.RetryAfter, wait)
	return e
}

// readRetryAfter reads Retry-After without the bound of failure.ClassifyHTTP.
func readRetryAfter(header http.Header, now time.Time) time.Duration {
	value := strings.TrimSpace(header.Get("Retry-After"))
	if n, err := strconv.ParseFloat(value, 64); err == nil {
		return secondsOf(n)
	}
	if at, err := http.ParseTime(value); err == nil {
		return timeUntil(at, now)
	}
	return 0
}

// untilReset returns the longest time until the reset of a limit of which nothing remains. Anthropic
// writes anthropic-ratelimit-<what>-remaining and -reset, OpenAI and others x-ratelimit-remaining-<what>
// and x-ratelimit-reset-<what>. A subscription of Anthropic has a status in place of the remaining amount.
func untilReset(header http.Header, now time.Time) time.Duration {
	var longest time.Duration
	for name := range header {
		var reset string
		switch value := strings.TrimSpace(header.Get(name)); {
		case !strings.Contains(name, "Ratelimit"):
		case strings.Contains(name, "Remaining") && value == "0":
			reset = strings.Replace(name, "Remaining", "Reset", 1)
		case strings.HasSuffix(name, "-Unified-Status") && value == "rejected":
			reset = strings.TrimSuffix(name, "Status") + "Reset"
		}
		if reset != "" {
			longest = max(longest, resetIn(strings.TrimSpace(header.Get(reset)), now))
		}
	}
	return longest
}

// resetIn reads a time, a duration such as 6m0s, or a number: of seconds, or since 1970 of seconds or
// milliseconds.
func resetIn(value string, now time.Time) time.Duration {
	if at, err := time.Parse(time.RFC3339, value); err == nil {
		return timeUntil(at, now)
	}
	if d, err := time.ParseDuration(value); err == nil {
		return min(max(d, 0), maxLimited)
	}
	n, err := strconv.ParseFloat(value, 64)
	switch {
	case err != nil:
		return 0
	case n >= 1e15: // not a time
		return maxLimited
	case n >= 1e11:
		return timeUntil(time.UnixMilli(int64(n)), now)
	case n >= 1e9:
		return timeUntil(time.Unix(int64(n), 0), now)
	}
	return secondsOf(n)
}

// timeUntil returns the time from now to at, at most maxLimited.
func timeUntil(at, now time.Time) time.Duration { return min(max(at.Sub(now), 0), maxLimited) }

// secondsOf returns n seconds, at most maxLimited.
func secondsOf(n float64) time.Duration {
	if !(n >= 0) {
		return 0
	}
	return time.Duration(min(n*float64(time.Second), float64(maxLimited)))
}
