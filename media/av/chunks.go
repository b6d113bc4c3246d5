package av

// Chunks divides a video into clips of Frames frames, Stride apart, whose starts are Step
// apart. All are at least 1.
type Chunks struct{ Frames, Stride, Step int }

// Len returns how many chunks a video of n frames has: as many as it takes until one has
// the last frame, and no further one.
func (c Chunks) Len(n int) int {
	if n <= 0 {
		return 0
	}
	span := (c.Frames-1)*c.Stride + 1
	covered := 1 + (max(0, n-span)+c.Step-1)/c.Step
	return min(covered, (n+c.Step-1)/c.Step)
}

// At returns the frames of one chunk of a video of n frames. The last one may be shorter.
func (c Chunks) At(n, chunk int) []int {
	first := chunk * c.Step
	return steps(first, min(n, first+(c.Frames-1)*c.Stride+1), c.Stride)
}
