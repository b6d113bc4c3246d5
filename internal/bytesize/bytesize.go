// Package bytesize reads and writes amounts of memory as people do.
package bytesize

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// units are tried in this order: "B" ends all others.
var units = []struct {
	name  string
	bytes float64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
	{"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1},
}

var errSize = errors.New("must be a number of bytes, at least 1, such as 1073741824, 512MiB or 2GB")

// Parse reads text like 1073741824, 512MiB or 2 GB, in capital letters or not.
func Parse(text string) (int64, error) {
	number, factor := strings.TrimSpace(text), 1.0
	for _, u := range units {
		if n := len(number) - len(u.name); n > 0 && strings.EqualFold(number[n:], u.name) {
			number, factor = strings.TrimSpace(number[:n]), u.bytes
			break
		}
	}
	x, err := strconv.ParseFloat(number, 64)
	if n := x * factor; err == nil && n >= 1 && n < math.MaxInt64 {
		return int64(n), nil
	}
	return 0, errSize
}

// Text writes an amount for people, in three digits: 12.3 MiB, 512 KiB.
func Text(n int64) string {
	size, unit := float64(n), "B"
	for _, next := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if math.Abs(size) < 999.5 {
			break
		}
		size, unit = size/1024, next
	}
	scale := 100.0
	switch {
	case math.Abs(size) >= 99.95:
		scale = 1
	case math.Abs(size) >= 9.995:
		scale = 10
	}
	return strconv.FormatFloat(math.Round(size*scale)/scale, 'f', -1, 64) + " " + unit
}
