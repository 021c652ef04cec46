import Type, { type TString } from 'typebox'
import { rules } from './rule.ts'

/** The base URL of a service: http or https, with a host, without query and credentials. */
export const httpUrl = (options: { description: string }): TString =>
  Type.String({
    minLength: 1,
    maxLength: 2048,
    ...options,
    ...rules(
      {
        rule: "isURL(self) && url(self).getScheme() in ['http', 'https'] && url(self).getHostname() != ''",
        message: 'must be a URL that begins with http:// or https:// and a host, such as http://hyperfleet-api:8080',
      },
      {
        rule: "!self.contains('?') && !self.contains('#')",
        message: 'must be a base URL: leave out everything from ? or # on',
      },
      {
        rule: "!self.contains('@')",
        message: 'must not carry credentials: specs are readable by many; give the manager a token file instead',
      },
    ),
  })
