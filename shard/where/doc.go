// Package where reads expressions that choose rows by their columns.
//
// One is
//
//	age > 3 and country in ('de', 'fr')
//
// An expression is true, false or unknown of a row, as in SQL: a comparison with a value
// that is null is unknown, and so is what follows from it alone. Chosen are rows of which
// it is true. Whether there are such columns is for those who read rows; an [Error] says
// where in the text something is wrong.
package where
