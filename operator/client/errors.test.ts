import { expect, test } from 'vitest'
import { ApiError, isDenied } from './errors.ts'

// ADAPTER-121
test.each([
  [`namespaces "x" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no`, true],
  ['admission webhook "validation.gatekeeper.sh" denied the request: no', true],
  [
    `roles.rbac.authorization.k8s.io "ValidatingAdmissionPolicy 'x" is forbidden: User "u" cannot patch resource "roles"`,
    false,
  ],
])(
  'what admission refuses is told from what the account has no right to, whatever the object is called: %s',
  (message, denied) => {
    expect(isDenied(new ApiError({ kind: 'Status', code: 403, reason: 'Forbidden', message } as never))).toBe(denied)
  },
)
