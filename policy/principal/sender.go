package principal

import "strings"

// Sender is who wrote a message, as the channel's adapter authenticated them. A principal of a conversation is always
// a sender: a room is a place, and nobody.
type Sender struct {
	Channel string
	ID      string // the platform's own id of the person
}

// PrincipalID is "principal:conversation:<channel>:<sender>", the sender spelled as in a key.
func (s Sender) PrincipalID() (string, error) {
	if !name(s.Channel) {
		return "", badKey("the sender's channel must be a name")
	}
	return principalID(Conversation, s.Channel, s.ID)
}

// Direct are the facts of the sender alone with the agent. The conversation is theirs: a message of another sender in
// it reaches nothing.
func (s Sender) Direct(at Place) (Facts, error) {
	key, err := at.Key()
	if err != nil {
		return Facts{}, err
	}
	if at.Channel != s.Channel {
		return Facts{}, badKey("it must be of the sender's own channel")
	}
	who, err := s.PrincipalID()
	if err != nil {
		return Facts{}, err
	}
	return Facts{PrincipalID: who, Authority: Conversation, Channel: at.Channel, ConversationKey: key}, nil
}

// Room are the facts of the sender in a place that others write in too. What they say there is a conversation of
// their own, the room's ids with the sender's after them: what one person was told, allowed or had remembered is not
// another's. A sender that is the room itself, such as an anonymous administrator, is nobody and a [*KeyError].
func (s Sender) Room(at Place) (Facts, error) {
	for _, id := range at.IDs {
		if id == s.ID {
			return Facts{}, badKey("the sender of a room must be a person, not the room")
		}
	}
	at.IDs = append(at.IDs[:len(at.IDs):len(at.IDs)], s.ID)
	return s.Direct(at)
}

// SchedulerID is the principal id of one run of a schedule of a core.
func SchedulerID(core, schedule, run string) (string, error) {
	return principalID("scheduler", core, schedule, run)
}

// DelegatedID is the principal id of the child that one effect of a parent's session made.
func DelegatedID(parentSession, effect string) (string, error) {
	return principalID(DelegatedAgent, parentSession, effect)
}

func principalID(kind Authority, parts ...string) (string, error) {
	all := []string{"principal", string(kind)}
	for _, p := range parts {
		word, err := encode(p)
		if err != nil {
			return "", err
		}
		all = append(all, word)
	}
	id := strings.Join(all, ":")
	if len(id) > maxPrincipalID {
		return "", badKey("the principal id must have at most %d bytes", maxPrincipalID)
	}
	return id, nil
}
