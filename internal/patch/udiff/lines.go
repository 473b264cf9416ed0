package udiff

import (
	"bytes"
	"slices"
)

// Edit replaces the lines [A, AEnd) of one text by the lines [B, BEnd) of another.
type Edit struct{ A, AEnd, B, BEnd int }

// Edits gives what has to be done to the lines of a to get those of b: in order,
// apart from each other, and depending on nothing but a and b.
func Edits(a, b [][]byte) []Edit {
	d := differ{a: a, b: b}
	d.between(0, len(a), 0, len(b))
	return d.edits
}

type differ struct {
	a, b  [][]byte
	edits []Edit
}

// small is the number of lines up to which a shortest way is looked for at once.
const small = 200

// between compares a[al:ah] with b[bl:bh]: it takes off what is equal at both ends, goes
// from change to change as long as they are small, splits the rest at lines that occur once on
// either side, and searches what remains.
func (d *differ) between(al, ah, bl, bh int) {
	for al < ah && bl < bh && bytes.Equal(d.a[ah-1], d.b[bh-1]) {
		ah, bh = ah-1, bh-1
	}
	for {
		for al < ah && bl < bh && bytes.Equal(d.a[al], d.b[bl]) {
			al, bl = al+1, bl+1
		}
		if al == ah || bl == bh {
			if al < ah || bl < bh {
				d.replace(al, ah, bl, bh)
			}
			return
		}
		if ah-al+bh-bl <= small {
			break
		}
		a, b, ok := d.search(al, ah, bl, bh, stride, solid)
		if !ok {
			break
		}
		al, bl = a, b
	}
	if ah-al+bh-bl > small && d.split(al, ah, bl, bh) {
		return
	}
	if _, _, ok := d.search(al, ah, bl, bh, maxDepth, ah-al+1); !ok {
		d.replace(al, ah, bl, bh)
	}
}

// replace records an edit; one that begins where the last one ended is joined to it.
func (d *differ) replace(al, ah, bl, bh int) {
	if n := len(d.edits); n > 0 && d.edits[n-1].AEnd == al && d.edits[n-1].BEnd == bl {
		d.edits[n-1].AEnd, d.edits[n-1].BEnd = ah, bh
		return
	}
	d.edits = append(d.edits, Edit{al, ah, bl, bh})
}

// seen is where a line occurs, when it does so once.
type seen struct{ a, b, inA, inB int }

// split compares the parts between lines that occur once on either side and in the
// same order on both.
func (d *differ) split(al, ah, bl, bh int) bool {
	lines := make(map[string]*seen, ah-al)
	for i := al; i < ah; i++ {
		s := lines[string(d.a[i])]
		if s == nil {
			s = &seen{}
			lines[string(d.a[i])] = s
		}
		s.a, s.inA = i, s.inA+1
	}
	var anchors []seen
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
	anchors = rising(anchors)
	if len(anchors) == 0 {
		return false
	}
	for _, s := range anchors {
		if s.a < al || s.b < bl {
			continue // taken as equal already
		}
		d.between(al, s.a, bl, s.b)
		al, bl = s.a+1, s.b+1
	}
	d.between(al, ah, bl, bh)
	return true
}

// rising is a longest part of anchors, which are in order of a, that is in order of b
// too.
func rising(anchors []seen) []seen {
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
	var out []seen
	for i := tails[len(tails)-1]; i >= 0; i = before[i] {
		out = append(out, anchors[i])
	}
	slices.Reverse(out)
	return out
}

// Bounds of a search. Parts that differ by more than maxDepth lines are replaced
// as a whole: that is right too, only longer.
const (
	maxDepth = 1000
	stride   = 50 // lines of a change that is taken without looking at all the rest
	solid    = 8  // equal lines that end it
)

// reach is how far every diagonal got with a number of steps: the index in a for
// the diagonals from -steps to steps, -1 where there is no way.
type reach []int

func (r reach) at(k int) int {
	steps := len(r) / 2
	if k < -steps || k > steps {
		return -1
	}
	return r[k+steps]
}

// step goes on to diagonal k: by a line of a more, or by a line of b more.
func (r reach) step(k, n, m int) (x int, takesA bool) {
	right, down := r.at(k-1), r.at(k+1)
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

// search is the greedy search of Myers. It ends at the end of both parts, or at
// enough equal lines in a row, and gives where that is; nothing is recorded when it takes
// more than depth lines.
func (d *differ) search(al, ah, bl, bh, depth, enough int) (a, b int, ok bool) {
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
				x, _ = trace[steps-1].step(k, n, m)
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
				d.walk(trace, al, bl, k, n, m)
				return al + from, bl + from - k, true
			}
		}
		trace = append(trace, now)
	}
	return 0, 0, false
}

// walk follows the trace back from diagonal k and records the edits on the way.
func (d *differ) walk(trace []reach, al, bl, k, n, m int) {
	back := make([]Edit, 0, len(trace))
	for _, before := range slices.Backward(trace) {
		x, takesA := before.step(k, n, m)
		if takesA {
			back = append(back, Edit{al + x - 1, al + x, bl + x - k, bl + x - k})
			k--
		} else {
			back = append(back, Edit{al + x, al + x, bl + x - k - 1, bl + x - k})
			k++
		}
	}
	for _, e := range slices.Backward(back) {
		d.replace(e.A, e.AEnd, e.B, e.BEnd)
	}
}
