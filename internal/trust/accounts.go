package trust

import (
	"os"
	"slices"
	"strconv"
	"strings"
)

// Package os/user would bring C into programs that have none, for accounts of a network:
// of whom these files do not know, only numbers are compared.

var passwd, group = "/etc/passwd", "/etc/group"

// isIn reports whether a user is in a group.
func isIn(uid, gid uint32) bool {
	name := ""
	for _, a := range accounts(passwd) {
		if a.id == uid {
			if name = a.name; len(a.more) > 0 && a.more[0] == strconv.FormatUint(uint64(gid), 10) {
				return true
			}
		}
	}
	return name != "" && slices.ContainsFunc(accounts(group), func(g account) bool {
		return g.id == gid && len(g.more) > 0 && slices.Contains(strings.Split(g.more[0], ","), name)
	})
}

// nameOf returns the number of an account for people.
func nameOf(file string, id uint32) string {
	text := strconv.FormatUint(uint64(id), 10)
	for _, a := range accounts(file) {
		if a.id == id {
			return a.name + " (" + text + ")"
		}
	}
	return text
}

// account is a line of a file: name, password, number, and more.
type account struct {
	name string
	id   uint32
	more []string
}

func accounts(file string) (all []account) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		parts := strings.Split(strings.TrimSpace(line), ":")
		if len(parts) < 3 {
			continue
		}
		if id, err := strconv.ParseUint(parts[2], 10, 32); err == nil {
			all = append(all, account{parts[0], uint32(id), parts[3:]})
		}
	}
	return all
}
