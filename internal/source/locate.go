package source

// Sized are contents that know how long samples are before these are read.
type Sized interface {
	Contents
	// Size returns the bytes of a sample; false: they are not known.
	Size(index int64) (bytes int64, known bool)
}

// Locate returns the function from a position of an epoch to the sample there: its
// source, which is one of the mix's if l is a mix, and its index. It is for one
// goroutine, and nil if only a sampler could tell.
func (l *Listing) Locate(epoch int) func(pos int64) (of *Listing, index int64) {
	if l.Iterated() || l.Sampled() {
		return nil
	}
	share, take := l.Share(epoch), l.taking(epoch)
	return func(pos int64) (*Listing, int64) {
		place, _ := share.At(pos)
		t := take(place)
		return t.from, t.index
	}
}
