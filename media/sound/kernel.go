package sound

// Places say which samples of one channel come out: from place N on, each a Stride after
// the one before, as sums of Taps that come in. What comes in begins with place First.
// There are Up sets of coefficients; that of a sample begins Before its place.
type Places struct {
	Up, Down, Before, Taps int
	N, First               int64
	Stride                 int
}

// At is where the i-th of them begins in what comes in, and which set it has.
func (p *Places) At(i int) (at, set int) {
	n, up, down := p.N+int64(i), int64(p.Up), int64(p.Down)
	phase := n % up * down
	return int(n/up*down + phase/up - int64(p.Before) - p.First), int(phase % up)
}

// Kernel makes samples. Sets are the coefficients, Taps of each; to has room for the last
// sample and what is between.
type Kernel func(to, in, sets []float32, p Places)

// kernel and mean are what windows are made with.
var (
	kernel Kernel = Plain
	mean          = Mean
)

// Use has windows made by others, which give the same bits as [Plain] and [Mean]. It is
// to be called before anything is read.
func Use(k Kernel, m func(to, pairs []float32)) { kernel, mean = k, m }

// Mean makes one channel of two, whose samples are side by side.
func Mean(to, pairs []float32) {
	for i := range to {
		to[i] = (pairs[2*i] + pairs[2*i+1]) / 2
	}
}

// Plain is the kernel that says what comes out.
func Plain(to, in, sets []float32, p Places) {
	for i := 0; i*p.Stride < len(to); i++ {
		at, set := p.At(i)
		to[i*p.Stride] = dot(sets[set*p.Taps:][:p.Taps], in[at:])
	}
}
