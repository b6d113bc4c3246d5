package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// size is the value of a flag that takes a number of bytes: 1073741824, 512MiB, 2GB.
type size struct{ bytes *int64 }

func (s size) String() string {
	if s.bytes == nil || *s.bytes == 0 {
		return ""
	}
	return strconv.FormatInt(*s.bytes, 10)
}

func (s size) Type() string { return "size" }

func (s size) Set(text string) error {
	n, err := parseSize(text)
	if err == nil {
		*s.bytes = n
	}
	return err
}

// sizeUnits are tried in this order: "B" ends all others.
var sizeUnits = []struct {
	name  string
	bytes float64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
	{"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1},
}

func parseSize(text string) (int64, error) {
	number, factor := strings.TrimSpace(text), 1.0
	for _, u := range sizeUnits {
		if n := len(number) - len(u.name); n > 0 && strings.EqualFold(number[n:], u.name) {
			number, factor = strings.TrimSpace(number[:n]), u.bytes
			break
		}
	}
	x, err := strconv.ParseFloat(number, 64)
	if n := x * factor; err == nil && n >= 1 && n < math.MaxInt64 {
		return int64(n), nil
	}
	return 0, fmt.Errorf("takes a number of bytes from 1 on, such as 1073741824, 512MiB or 2GB")
}
