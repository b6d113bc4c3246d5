// Package arrows holds the image of which package may import which, and the test that
// the code agrees with it.
//
// The drawing is the list in table_test.go: one line per arrow, with the reason that lets
// it are. An import that is missing there fails the test, and so does a line that no
// package uses any more, so the list is always the whole truth. Anyone who adds a line
// answers the question that it asks: what does the lower package do for the higher one,
// and would a user of the higher one expect to link it?
//
// What the tests import is free, except that C stays where the list puts it.
package arrows
