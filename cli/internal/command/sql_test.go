package command

import (
	"database/sql"

	"github.com/rogpeppe/go-internal/testscript"
)

// statements runs each argument after the first on the database that the first names, on one connection: what damage
// and an attacker can do that the program cannot.
func statements(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: sql DATABASE STATEMENT...")
	}
	db, err := sql.Open("sqlite", ts.MkAbs(args[0]))
	ts.Check(err)
	defer db.Close()
	db.SetMaxOpenConns(1)
	for _, s := range args[1:] {
		_, err := db.Exec(s)
		ts.Check(err)
	}
}
