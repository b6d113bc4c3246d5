package live

import (
	"math"
	"strconv"
)

// brief keeps four digits: more would not be read, and are sent each second.
func brief(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0
	}
	short, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 4, 64), 64) // of a text that is one
	return short
}
