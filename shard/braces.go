package shard

import (
	"fmt"
	"strconv"
	"strings"
)

// mostNames bounds what one pattern can mean.
const mostNames = 1 << 22

// Expand returns the shards that a name with braces stands for, in the order in which
// they are read; of another name, itself.
func Expand(name string) ([]string, error) { return expand(name) }

// expand returns the names that braces stand for, in the order that shells give them:
// "a-{000..002}.tar" is three, "{train,val}.tar" two. Braces that mean nothing stay.
func expand(pattern string) ([]string, error) {
	all := expandBraces(pattern, mostNames)
	if len(all) > mostNames {
		return nil, fmt.Errorf("%q means more than %d names", pattern, mostNames)
	}
	return all, nil
}

// expandBraces expands the first braces, and then what is after them. It stops when
// there are more than so many names.
func expandBraces(p string, most int) []string {
	for open := strings.IndexByte(p, '{'); open >= 0; {
		end, commas := closing(p, open)
		if end >= 0 {
			if choices := choicesOf(p[open+1:end], commas, open+1, most); choices != nil {
				return combine(p[:open], choices, expandBraces(p[end+1:], most), most)
			}
		}
		next := strings.IndexByte(p[open+1:], '{')
		if next < 0 {
			break
		}
		open += 1 + next
	}
	return []string{p}
}

func combine(before string, choices, after []string, most int) []string {
	var all []string
	for _, c := range choices {
		for _, a := range after {
			if all = append(all, before+c+a); len(all) > most {
				return all
			}
		}
	}
	return all
}

// closing finds the brace that closes one, and the commas between them that are in no
// braces of their own; -1: there is none.
func closing(p string, open int) (end int, commas []int) {
	depth := 0
	for i := open; i < len(p); i++ {
		switch p[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i, commas
			}
		case ',':
			if depth == 1 {
				commas = append(commas, i)
			}
		}
	}
	return -1, nil
}

// choicesOf are what one pair of braces stands for; nil: for itself.
func choicesOf(inside string, commas []int, begins, most int) (all []string) {
	if commas == nil {
		return rangeOf(inside, most)
	}
	from := 0
	for _, c := range append(commas, begins+len(inside)) {
		all = append(all, expandBraces(inside[from:c-begins], most)...)
		if from = c - begins + 1; len(all) > most {
			break
		}
	}
	return all
}

// rangeOf expands first..last and first..last..step, of numbers or letters.
func rangeOf(inside string, most int) (all []string) {
	parts := strings.Split(inside, "..")
	if len(parts) < 2 || len(parts) > 3 {
		return nil
	}
	step := int64(1)
	if len(parts) == 3 {
		n, err := strconv.ParseInt(parts[2], 10, 32)
		if err != nil {
			return nil
		}
		step = max(n, -n, 1)
	}

	write := func(v int64) string { return string(rune(v)) }
	first, last, letters := letter(parts[0]), letter(parts[1]), true
	if first < 0 || last < 0 {
		a, errA := strconv.ParseInt(parts[0], 10, 62)
		b, errB := strconv.ParseInt(parts[1], 10, 62)
		if errA != nil || errB != nil {
			return nil
		}
		first, last, letters = a, b, false
	}
	if !letters {
		width := 0
		if padded(parts[0]) || padded(parts[1]) {
			width = max(len(parts[0]), len(parts[1]))
		}
		write = func(v int64) string { return fmt.Sprintf("%0*d", width, v) }
	}

	if first > last {
		step = -step
	}
	for v := first; step > 0 && v <= last || step < 0 && v >= last; v += step {
		if all = append(all, write(v)); len(all) > most {
			break
		}
	}
	return all
}

func letter(s string) int64 {
	if len(s) != 1 || s[0]|0x20 < 'a' || s[0]|0x20 > 'z' {
		return -1
	}
	return int64(s[0])
}

func padded(number string) bool {
	digits := strings.TrimPrefix(number, "-")
	return len(digits) > 1 && digits[0] == '0'
}
