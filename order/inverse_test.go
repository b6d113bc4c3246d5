package order

// Inverse returns the place of number v: Inverse(At(i)) = i. Like an index into a
// slice, v outside [0, n) panics.
func (p *Permutation) Inverse(v int64) int64 {
	x := p.check(v)
	if p.table != nil {
		for i, y := range p.table {
			if uint64(y) == x {
				return int64(i)
			}
		}
	}
	for x = p.back(x); x >= p.n; {
		x = p.back(x)
	}
	return int64(x)
}

func (p *Permutation) back(x uint64) uint64 {
	left, right := x/p.b, x%p.b
	for i := feistelRounds - 2; i >= 0; i -= 2 {
		right = sub(right, round(left, p.keys[i+1], p.b), p.b)
		left = sub(left, round(right, p.keys[i], p.a), p.a)
	}
	return left*p.b + right
}

// sub is modulo n, for x and y below n ≤ 2³².
func sub(x, y, n uint64) uint64 {
	if x < y {
		x += n
	}
	return x - y
}
