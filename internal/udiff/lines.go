package udiff

import (
	"bytes"
	"slices"
)

// Edit replaces the lines [A, AEnd) of one text by the lines [B, BEnd) of another.
type Edit struct{ A, AEnd, B, BEnd int }

// Edits returns the edits that turn the lines of a into the lines of b. They are in order, apart from each
// other, and depend on nothing but a and b.
func Edits(a, b [][]byte) []Edit {
	d := differ{a: a, b: b}
	d.compareParts(0, len(a), 0, len(b))
	return d.edits
}

// differ compares two texts.
type differ struct {
	a, b  [][]byte
	edits []Edit
}

// maxDirect is the most lines for which a shortest sequence of edits is searched at once.
const maxDirect = 200

// compareParts compares a[al:ah] with b[bl:bh]. It removes equal lines at both ends, proceeds from change
// to change as long as they are small, splits the rest at lines that occur once on either side, and
// searches the remainder.
func (d *differ) compareParts(al, ah, bl, bh int) {
	for al < ah && bl < bh && bytes.Equal(d.a[ah-1], d.b[bh-1]) {
		ah, bh = ah-1, bh-1
	}
	for {
		for al < ah && bl < bh && bytes.Equal(d.a[al], d.b[bl]) {
			al, bl = al+1, bl+1
		}
		if al == ah || bl == bh {
			if al < ah || bl < bh {
				d.addEdit(al, ah, bl, bh)
			}
			return
		}
		if ah-al+bh-bl <= maxDirect {
			break
		}
		a, b, ok := d.searchEdits(al, ah, bl, bh, stride, solid)
		if !ok {
			break
		}
		al, bl = a, b
	}
	if ah-al+bh-bl > maxDirect && d.splitAtUnique(al, ah, bl, bh) {
		return
	}
	if _, _, ok := d.searchEdits(al, ah, bl, bh, maxDepth, ah-al+1); !ok {
		d.addEdit(al, ah, bl, bh)
	}
}

// addEdit records an edit. It joins an edit that begins at the end of the last one to it.
func (d *differ) addEdit(al, ah, bl, bh int) {
	if n := len(d.edits); n > 0 && d.edits[n-1].AEnd == al && d.edits[n-1].BEnd == bl {
		d.edits[n-1].AEnd, d.edits[n-1].BEnd = ah, bh
		return
	}
	d.edits = append(d.edits, Edit{al, ah, bl, bh})
}

// occurrence says where a line occurs in a and b, and how often.
type occurrence struct{ a, b, inA, inB int }

// splitAtUnique compares the parts between lines that occur once on either side and in the same order on
// both.
func (d *differ) splitAtUnique(al, ah, bl, bh int) bool {
	lines := make(map[string]*occurrence, ah-al)
	for i := al; i < ah; i++ {
		s := lines[string(d.a[i])]
		if s == nil {
			s = &occurrence{}
			lines[string(d.a[i])] = s
		}
		s.a, s.inA = i, s.inA+1
	}
	var anchors []occurrence
	for i := bl; i < bh; i++ {
		if s := lines[string(d.b[i])]; s != nil {
			s.b, s.inB = i, s.inB+1
		}
	}
	for i := al; i < ah; i++ {
		if s := lines[string(d.a[i])]; s.inA == 1 && s.inB == 1 {
			anchors = append(anchors, *s)
		}
	}
	anchors = longestRising(anchors)
	if len(anchors) == 0 {
		return false
	}
	for _, s := range anchors {
		if s.a < al || s.b < bl {
			continue // taken as equal already
		}
		d.compareParts(al, s.a, bl, s.b)
		al, bl = s.a+1, s.b+1
	}
	d.compareParts(al, ah, bl, bh)
	return true
}

// longestRising returns a longest subsequence of anchors that is in order of b. The anchors are in order
// of a.
func longestRising(anchors []occurrence) []occurrence {
	var tails []int // tails[n] is the anchor with the least b that ends a part of n+1
	before := make([]int, len(anchors))
	for i, s := range anchors {
		n, _ := slices.BinarySearchFunc(tails, s.b, func(t, b int) int { return anchors[t].b - b })
		before[i] = -1
		if n > 0 {
			before[i] = tails[n-1]
		}
		if n == len(tails) {
			tails = append(tails, i)
		} else {
			tails[n] = i
		}
	}
	if len(tails) == 0 {
		return nil
	}
	var out []occurrence
	for i := tails[len(tails)-1]; i >= 0; i = before[i] {
		out = append(out, anchors[i])
	}
	slices.Reverse(out)
	return out
}

// Bounds of a search. Parts that differ by more than maxDepth lines are replaced
// as a whole. The result is correct too, but longer.
const (
	maxDepth = 1000
	stride   = 50 // most lines of a change that is accepted before the rest is compared
	solid    = 8  // equal lines that end it
)

// reach holds how far every diagonal got with a number of steps: the index in a for the diagonals from
// -steps to steps, -1 where there is no way.
type reach []int

// reachAt returns the index that diagonal k reached.
func (r reach) reachAt(k int) int {
	steps := len(r) / 2
	if k < -steps || k > steps {
		return -1
	}
	return r[k+steps]
}

// nextStep extends the search to diagonal k, by a line of a or by a line of b.
func (r reach) nextStep(k, n, m int) (x int, takesA bool) {
	right, down := r.reachAt(k-1), r.reachAt(k+1)
	if right >= 0 && right < n {
		right++
	} else {
		right = -1
	}
	if down-k > m {
		down = -1
	}
	return max(right, down), right >= down
}

// searchEdits is the greedy search of Myers. It ends at the end of both parts, or at enough equal lines in
// a row, and returns that position. It records nothing if it needs more than depth lines.
func (d *differ) searchEdits(al, ah, bl, bh, depth, enough int) (a, b int, ok bool) {
	n, m := ah-al, bh-bl
	var trace []reach
	for steps := 0; steps <= depth; steps++ {
		now := make(reach, 2*steps+1)
		for k := -steps; k <= steps; k++ {
			now[k+steps] = -1
			if (k+steps)%2 != 0 {
				continue
			}
			x := 0
			if steps > 0 {
				x, _ = trace[steps-1].nextStep(k, n, m)
			}
			if x < 0 || x-k < 0 {
				continue
			}
			from := x
			for x < n && x-k < m && x-from < enough && bytes.Equal(d.a[al+x], d.b[bl+x-k]) {
				x++
			}
			now[k+steps] = x
			if x == n && x-k == m || x-from == enough {
				d.walkBack(trace, al, bl, k, n, m)
				return al + from, bl + from - k, true
			}
		}
		trace = append(trace, now)
	}
	return 0, 0, false
}

// walkBack follows the trace back from diagonal k and records the edits on the way.
func (d *differ) walkBack(trace []reach, al, bl, k, n, m int) {
	back := make([]Edit, 0, len(trace))
	for _, before := range slices.Backward(trace) {
		x, takesA := before.nextStep(k, n, m)
		if takesA {
			back = append(back, Edit{al + x - 1, al + x, bl + x - k, bl + x - k})
			k--
		} else {
			back = append(back, Edit{al + x, al + x, bl + x - k - 1, bl + x - k})
			k++
		}
	}
	for _, e := range slices.Backward(back) {
		d.addEdit(e.A, e.AEnd, e.B, e.BEnd)
	}
}
