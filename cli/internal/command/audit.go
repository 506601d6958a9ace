package command

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/b3abf3ee/portcullis/cli/internal/app"
	"github.com/b3abf3ee/portcullis/cli/internal/console"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/spelling"
)

func (s *shell) audit() *cli.Command {
	return &cli.Command{
		Name: "audit", Usage: "list what was decided and done, newest first",
		Description: "Every command takes the operator's authority, which is on record as " + string(event.OperatorIssued) + ".\n" +
			"So that looking does not crowd out what happened, these are shown only with --all, or when the list is\n" +
			"narrowed to a session, a turn or a kind.",
		Flags: listFlags(50,
			&cli.StringFlag{Name: "session", Usage: "only of this `SESSION`"},
			&cli.StringFlag{Name: "turn", Usage: "only of this `TURN`"},
			&cli.StringFlag{Name: "kind", Usage: "only of this `KIND`, as in effect.denied"},
			&cli.StringFlag{Name: "since", Usage: "only from `TIME` on: 2026-01-31, 2026-01-31T12:00:00Z, or 90m for the last ninety minutes"},
			&cli.BoolFlag{Name: "all", Usage: "also each command's taking of the operator's authority (" + string(event.OperatorIssued) + "), which reading makes too"},
		),
		Action: s.listAudit,
		Subcommands: []*cli.Command{{
			Name: "verify", Usage: "recompute the chain over the audit and say whether a record was changed, taken out, put in or moved; writes nothing",
			Description: "Each record holds a digest over itself and all before it. Who can write the database can also make a whole\n" +
				"new chain: note the head that this command prints somewhere else, and give it again with --head.",
			Flags: []cli.Flag{
				&cli.StringSliceFlag{Name: "head", Usage: "a `HEAD` that was noted before must still be in the chain"},
			},
			Action: s.verifyAudit,
		}},
	}
}

// recordAnswer is an audit record in a document.
type recordAnswer struct {
	ID        id.Event          `json:"id"`
	At        *string           `json:"at"`
	Kind      event.Kind        `json:"kind"`
	Principal string            `json:"principal,omitempty"`
	Session   id.Session        `json:"session,omitempty"`
	Turn      id.Turn           `json:"turn,omitempty"`
	Effect    id.Effect         `json:"effect,omitempty"`
	Trace     id.Trace          `json:"trace,omitempty"`
	Fields    map[string]string `json:"fields"`
}

func recordOf(r event.Record) recordAnswer {
	fields := map[string]string{}
	for _, f := range r.Fields {
		fields[f.Name] = f.Value
	}
	return recordAnswer{r.ID, moment(r.At), r.Kind, r.Principal, r.Session, r.Turn, r.Effect, r.Trace, fields}
}

func (s *shell) listAudit(c *cli.Context) error {
	query, err := auditQuery(c)
	if err != nil {
		return err
	}
	l := listing[event.Record]{
		name: "events", most: 1000, none: "no records match",
		find: func(ctx context.Context, r *app.Records, skip, n int) ([]event.Record, error) {
			query.Skip, query.Limit = skip, n
			return r.Store.Events(ctx, r.By, query)
		},
		answer: func(e event.Record) any { return recordOf(e) },
		head:   []string{"at", "kind", "session", "turn", "principal", "details"},
		row: func(e event.Record) []any {
			words := make([]string, 0, len(e.Fields))
			for _, f := range e.Fields {
				if f.Value != "" {
					words = append(words, f.Name+"="+f.Value)
				}
			}
			return []any{stamp(e.At), e.Kind, e.Session, e.Turn, e.Principal, console.Cut(strings.Join(words, " "), 120)}
		},
	}
	if query.Without != "" {
		l.note = "without " + string(query.Without) + "; --all shows these too"
	}
	return l.show(s, c)
}

func auditQuery(c *cli.Context) (q turn.EventQuery, err error) {
	if text := c.String("session"); text != "" {
		if q.Session, err = id.ParseSession(text); err != nil {
			return q, err
		}
	}
	if text := c.String("turn"); text != "" {
		if q.Turn, err = id.ParseTurn(text); err != nil {
			return q, err
		}
	}
	if q.Kind, err = auditKind(c.String("kind")); err != nil {
		return q, err
	}
	if !c.Bool("all") && q.Kind == "" && q.Session == "" && q.Turn == "" {
		q.Without = event.OperatorIssued
	}
	if text := c.String("since"); text != "" {
		if q.Since, err = since(text, time.Now()); err != nil {
			return q, err
		}
	}
	return q, nil
}

// since reads a point in time: a date, a moment, or how long ago.
func since(text string, now time.Time) (time.Time, error) {
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	for _, layout := range []string{time.RFC3339, time.DateTime, time.DateOnly} {
		if t, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return t, nil
		}
	}
	p := usage("--since %q is not a time", console.Cut(text, 40))
	p.Remedy = "write --since=2026-01-31, --since=2026-01-31T12:00:00Z or --since=90m"
	return time.Time{}, p
}

// auditKind reads a kind, or nothing. What is no kind has no record, which would look as if nothing had happened.
func auditKind(text string) (event.Kind, error) {
	kinds := event.Kinds()
	if text == "" || slices.Contains(kinds, event.Kind(text)) {
		return event.Kind(text), nil
	}
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = string(k)
	}
	p := usage("--kind %q is no kind of record", console.Cut(text, 60))
	p.Remedy = "the kinds are " + strings.Join(names, ", ")
	if near := spelling.Nearest(text, names); near != "" {
		p.Remedy = "did you mean " + near + "?"
	}
	return "", p
}
