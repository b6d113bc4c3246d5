// Package window reads short pieces of a file that are in rising order: many at once
// where they are dense, and no more than them where they are far apart.
package window
