package command

import "github.com/urfave/cli/v2"

// commands are all sub-commands in the order in which a new user meets them.
func (s *shell) commands() []*cli.Command {
	return []*cli.Command{
		s.quickstart(), s.init(), s.doctor(), s.run(), s.chat(), s.serve(), s.call(), s.plugin(), s.core(),
		s.sessions(), s.turns(), s.effects(), s.approvals(), s.outbox(), s.tasks(), s.schedules(), s.audit(), s.secrets(), s.policy(), s.store(),
		s.completion(),
		s.version(),
	}
}
