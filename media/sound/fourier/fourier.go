// Package fourier transforms complex numbers of any count, in one order of sums, so that
// results are the same on every machine.
package fourier

import "math"

// Plan is a plan for transforms of one length, after Stockham: each pass takes out a
// factor, and results come in their order.
type Plan struct {
	n      int
	passes []pass
}

type pass struct {
	radix, stride int
	turns         []complex128 // by place, and part of the radix
	roots         []complex128 // of the radix
}

// New plans transforms of n numbers.
func New(n int) *Plan {
	f := &Plan{n: n}
	left, stride := n, 1
	for left > 1 {
		radix := smallest(left)
		m := left / radix
		p := pass{radix: radix, stride: stride, turns: make([]complex128, m*radix), roots: make([]complex128, radix)}
		for i := range m {
			for k := range radix {
				p.turns[i*radix+k] = root(i*k, left)
			}
		}
		for k := range radix {
			p.roots[k] = root(k, radix)
		}
		f.passes = append(f.passes, p)
		left, stride = m, stride*radix
	}
	return f
}

// smallest is the factor to take out: 4, or the smallest prime.
func smallest(n int) int {
	if n%4 == 0 {
		return 4
	}
	for p := 2; p*p <= n; p++ {
		if n%p == 0 {
			return p
		}
	}
	return n
}

// root is the k-th power of the n-th root of 1, clockwise.
func root(k, n int) complex128 {
	sin, cos := math.Sincos(-2 * math.Pi * float64(k%n) / float64(n))
	return complex(cos, sin)
}

// times multiplies. The conversions keep products from being fused with sums, which some
// machines would do and others would not.
func times(a, b complex128) complex128 {
	return complex(float64(real(a)*real(b))-float64(imag(a)*imag(b)), float64(real(a)*imag(b))+float64(imag(a)*real(b)))
}

// Run transforms x, and returns the result in x or in y, which is as long.
func (f *Plan) Run(x, y []complex128) []complex128 {
	left := f.n
	for _, p := range f.passes {
		m := left / p.radix
		switch p.radix {
		case 4:
			p.four(x, y, m)
		default:
			p.any(x, y, m)
		}
		x, y = y, x
		left = m
	}
	return x
}

func (p *pass) four(x, y []complex128, m int) {
	s := p.stride
	for i := range m {
		t := p.turns[4*i:][:4]
		a, b, c, d := x[s*i:][:s], x[s*(i+m):][:s], x[s*(i+2*m):][:s], x[s*(i+3*m):][:s]
		to := y[4*s*i:][:4*s]
		for q := range s {
			sum, difference := a[q]+c[q], a[q]-c[q]
			other, turned := b[q]+d[q], b[q]-d[q]
			turned = complex(imag(turned), -real(turned))
			to[q] = sum + other
			to[q+s] = times(difference+turned, t[1])
			to[q+2*s] = times(sum-other, t[2])
			to[q+3*s] = times(difference-turned, t[3])
		}
	}
}

func (p *pass) any(x, y []complex128, m int) {
	s, r := p.stride, p.radix
	for i := range m {
		for q := range s {
			for k := range r {
				var sum complex128
				for j := range r {
					sum += times(x[s*(i+j*m)+q], p.roots[j*k%r])
				}
				y[s*(r*i+k)+q] = times(sum, p.turns[r*i+k])
			}
		}
	}
}
