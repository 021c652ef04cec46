import { describe, expect, test } from 'vitest'
import { parseIssuers } from './jwt.ts'
import { parseTenantRules } from './tenant.ts'

const ISSUER = {
  issuer_url: 'https://sso.example.com',
  audience: 'hyperfleet-api',
  jwk_cert_url: 'https://sso.example.com/certs',
}

describe('server.jwt', () => {
  test('names issuers, each with its own keys, identity and roles', () => {
    const config = {
      ...ISSUER,
      name: 'sso',
      identity_claim_pattern: '@example\\.com$',
    }
    expect(
      parseIssuers({ configs: [{ ...config, role_mappings: [{ group: 'operators', roles: ['editor', 'adapter'] }] }] }),
    ).toEqual([
      {
        issuer: 'https://sso.example.com',
        shortName: 'sso',
        audiences: ['hyperfleet-api'],
        keys: { url: 'https://sso.example.com/certs' },
        identityPattern: /@example\.com$/u,
        groupsClaim: 'groups',
        mappings: [{ group: 'operators', roles: ['editor', 'adapter'] }],
        defaultRoles: [],
      },
    ])
  })

  test('that is switched off names no issuer', () => {
    expect(parseIssuers({ enabled: false, configs: [ISSUER] })).toEqual([])
  })

  test.each([
    ['without an issuer', {}, 'server.jwt.configs is empty'],
    [
      'without keys',
      { configs: [{ issuer_url: 'a', audience: 'b' }] },
      'server.jwt.configs[0] must have one of jwk_cert_url and jwk_cert_file',
    ],
    [
      'with keys twice',
      { configs: [{ ...ISSUER, jwk_cert_file: 'a' }] },
      'must have one of jwk_cert_url and jwk_cert_file',
    ],
    ['with a URL that is none', { configs: [{ ...ISSUER, jwk_cert_url: 'a' }] }, 'jwk_cert_url is no URL'],
    [
      'without an audience',
      { configs: [{ ...ISSUER, audience: undefined }] },
      'server.jwt.configs[0].audience is missing: name what tokens must be meant for (their aud), such as hyperfleet-api',
    ],
    [
      'with a name that has a slash',
      { configs: [{ ...ISSUER, name: 'a/b' }] },
      'server.jwt.configs[0].name must be 1 to 63 lower-case letters, digits, "-" or "."',
    ],
    ['with a broken pattern', { configs: [{ ...ISSUER, identity_claim_pattern: '(' }] }, 'is no regular expression'],
  ])('%s is refused', (_case, section, message) => {
    expect(() => parseIssuers(section)).toThrow(message)
  })
})

describe('server.tenant', () => {
  const ORG = { header: 'X-Org', key: 'org', required: true }

  test('names the headers of a gateway', () => {
    expect(
      parseTenantRules({ system_header: 'X-System', dimensions: [ORG, { header: 'X-Project', key: 'project' }] }),
    ).toEqual({
      systemHeader: 'X-System',
      dimensions: [ORG, { header: 'X-Project', key: 'project', required: false }],
    })
    expect(parseTenantRules({ enabled: false, system_header: 'X-System', dimensions: [ORG] })).toBeUndefined()
  })

  test.each([
    ['a header twice', { system_header: 'x-org', dimensions: [ORG] }, 'server.tenant names x-org twice'],
    [
      'a key twice',
      { system_header: 'X', dimensions: [ORG, { header: 'Y', key: 'org' }] },
      'server.tenant names org twice',
    ],
    [
      'a header that says something else',
      { system_header: 'Authorization', dimensions: [ORG] },
      'means something else',
    ],
    ['a key that no record can have', { system_header: 'X', dimensions: [{ ...ORG, key: '__proto__' }] }, '__proto__'],
    [
      'nothing required',
      { system_header: 'X', dimensions: [{ ...ORG, required: false }] },
      'must have one with required: true',
    ],
  ])('with %s is refused', (_case, section, message) => {
    expect(() => parseTenantRules(section)).toThrow(message)
  })
})
