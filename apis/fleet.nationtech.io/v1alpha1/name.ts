import type { Rule } from '#apis/schema/rule.ts'

/** Names are tokens of keys and subjects in NATS, where a dot begins the next token. FLEET-21. */
export const nameRule = (what: string): Rule => ({
  rule: "size(self.metadata.name) <= 63 && !self.metadata.name.contains('.')",
  message: `the name of a ${what} must be at most 63 letters, digits and hyphens, without dots: it is a part of keys in NATS`,
})
