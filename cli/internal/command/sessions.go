package command

import (
	"context"
	"strconv"

	"github.com/urfave/cli/v2"

	"github.com/b3abf3ee/portcullis/cli/internal/app"
	"github.com/b3abf3ee/portcullis/cli/internal/console"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/turn"
)

func (s *shell) sessions() *cli.Command {
	return &cli.Command{
		Name: "sessions", Usage: "the conversations of this home", Action: group,
		Subcommands: []*cli.Command{
			{Name: "list", Usage: "list sessions, newest first", Flags: listFlags(20), Action: s.listSessions},
			{
				Name: "show", Usage: "show one session with its turns, newest first", ArgsUsage: "SESSION",
				Flags: listFlags(20), Action: s.showSession,
			},
			{
				Name: "search", Usage: "find turns by a text in what was asked and replied, newest first", ArgsUsage: "TEXT",
				Description: "Case makes no difference. The newest " + strconv.Itoa(turn.MaxSearchTurns) + " turns are looked at; it is said when there are more.",
				Flags:       []cli.Flag{limitFlag(20)}, Action: s.searchSessions,
			},
			{
				Name: "end", Usage: "end a session for good, with everything that was allowed for it", ArgsUsage: "SESSION",
				Description: "Nothing starts in it any more, in whatever process: its running turn is asked to end, its open questions expire, and\n" +
					"what was allowed for the session is revoked. A conversation goes on in a new session. What was said stays readable.",
				Flags: []cli.Flag{&cli.StringFlag{Name: "reason", Usage: "`WORDS` for the record"}}, Action: s.endSession,
			},
			{
				Name: "repair", Usage: "look at a session that has no certain owner, which no other command shows", ArgsUsage: "SESSION|TURN",
				Description: "A session is without a certain owner when its row is damaged, or when an upgrade found that somebody else\n" +
					"spoke in it. Each look is on record as " + string(event.LegacyAccessed) + ", with the reason.",
				Flags:  []cli.Flag{&cli.StringFlag{Name: "reason", Usage: "`WHY` you look, at most " + strconv.Itoa(turn.MaxRepairReason) + " characters; needed"}},
				Action: s.repairSession,
			},
		},
	}
}

// sessionAnswer is a session in a document.
type sessionAnswer struct {
	ID        id.Session `json:"id"`
	Core      string     `json:"core"`
	Title     string     `json:"title"`
	Principal string     `json:"principal"`
	Authority string     `json:"authority"`
	Channel   string     `json:"channel,omitempty"`
	Turns     int        `json:"turns"`
	Created   *string    `json:"created"`
	LastTurn  *string    `json:"last_turn,omitempty"`
	Ended     *string    `json:"ended,omitempty"`

	ParentSession string `json:"parent_session,omitempty"` // of a child agent's: for whom it works
	ParentTurn    string `json:"parent_turn,omitempty"`
}

func sessionOf(s turn.Session) sessionAnswer {
	return sessionAnswer{
		ID: s.ID, Core: s.Core, Title: s.Title, Principal: s.Owner.PrincipalID, Authority: string(s.Owner.Authority),
		Channel: s.Owner.Channel, Turns: s.Turns, Created: moment(s.Created), LastTurn: moment(s.LastTurn), Ended: moment(s.Ended),
		ParentSession: s.Owner.ParentSession, ParentTurn: s.Owner.ParentTurn,
	}
}

func (s *shell) listSessions(c *cli.Context) error {
	return listing[turn.Session]{
		name: "sessions", most: 500, none: "no sessions yet; `portcullis chat` starts one",
		find: func(ctx context.Context, r *app.Records, skip, n int) ([]turn.Session, error) {
			return r.Store.Sessions(ctx, r.By, skip, n)
		},
		answer: func(f turn.Session) any { return sessionOf(f) },
		head:   []string{"session", "core", "turns", "last turn", "begins with"},
		row: func(f turn.Session) []any {
			return []any{f.ID, f.Core, f.Turns, stamp(f.LastTurn), console.Cut(f.Title, 60)}
		},
	}.show(s, c)
}

func (s *shell) showSession(c *cli.Context) error {
	args, err := operands(c)
	if err != nil {
		return err
	}
	part, err := pageOf(c, 500)
	if err != nil {
		return err
	}
	session, err := id.ParseSession(args[0])
	if err != nil {
		return err
	}
	return s.records(c, func(ctx context.Context, r *app.Records) error {
		found, ok, err := r.Store.Session(ctx, r.By, session)
		if err != nil {
			return err
		}
		if !ok {
			return notFound("session", session, "portcullis sessions list")
		}
		all, err := r.Store.Turns(ctx, r.By, session, part.skip, part.reach())
		if err != nil {
			return err
		}
		turns, more := pick(part, all)
		answer := struct {
			sessionAnswer
			List []turnAnswer `json:"turn_list"`
			More bool         `json:"more"`
		}{sessionOf(found), []turnAnswer{}, more}
		var rows [][]any
		for _, f := range turns {
			answer.List = append(answer.List, turnOf(f))
			rows = append(rows, []any{f.ID, stateStyle(f.State), stamp(f.Started), lasted(f), f.Steps, console.Cut(f.Input, 50)})
		}
		return s.out.Answer(answer, func(t *console.Text) {
			t.Say("%s  core %s, of %s, begun %s", console.Bold(string(found.ID)), found.Core, found.Owner.PrincipalID, stamp(found.Created))
			if !found.Ended.IsZero() {
				t.Say("ended %s", stamp(found.Ended))
			}
			if found.Owner.ParentTurn != "" {
				t.Say("child of turn %s in session %s", found.Owner.ParentTurn, found.Owner.ParentSession)
			}
			t.Table([]string{"turn", "outcome", "started", "took", "steps", "input"}, rows)
			part.sayMore(s.out.Err(), more)
		})
	})
}

// notFound is the one answer for what is not there and for what belongs to someone else.
func notFound[T ~string](kind string, name T, list string) error {
	return &console.Problem{
		Code: kind + "_not_found", Exit: console.ExitNo, Message: kind + " " + string(name) + " not found",
		Remedy: "`" + list + "` shows yours",
	}
}

// stateStyle colours a turn's state or outcome.
func stateStyle(s turn.State) console.Styled {
	switch turn.Outcome(s) {
	case turn.Completed:
		return console.Good(string(s))
	case turn.Failed, turn.Lost, turn.Indeterminate:
		return console.Bad(string(s))
	}
	return console.Warn(string(s))
}
