package media

// Filter is the kernel of a resize. All but Nearest are antialiased: they
// widen with the reduction.
// Its zero value is Bilinear.
type Filter uint8

// The filters, with the distance from the centre, in pixels of the larger of both
// grids, beyond which they are 0.
const (
	Bilinear Filter = iota // a triangle: 1
	Box                    // the mean: 1/2
	Hamming                // 1
	Bicubic                // a = -1/2: 2
	Lanczos                // 3
	Nearest                // the pixel in which the centre is, as Pillow takes it: nothing is mixed
)

var filters = names{"filter", []string{Bilinear: "bilinear", Box: "box", Hamming: "hamming",
	Bicubic: "bicubic", Lanczos: "lanczos", Nearest: "nearest"}}

// ParseFilter returns the filter of a name.
func ParseFilter(name string) (Filter, error) {
	f, err := filters.parse(name)
	return Filter(f), err
}

func (f Filter) String() string { return filters.text(uint8(f)) }

// MarshalText writes the name that ParseFilter reads.
func (f Filter) MarshalText() ([]byte, error) { return []byte(f.String()), f.check("filter") }

// UnmarshalText reads what MarshalText writes.
func (f *Filter) UnmarshalText(name []byte) (err error) {
	*f, err = ParseFilter(string(name))
	return err
}

func (f Filter) check(op string) error { return filters.check(op, uint8(f)) }
