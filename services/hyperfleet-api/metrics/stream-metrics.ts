import { Gauge, type Registry } from 'prom-client'
import type { Room } from '../storage/room.ts'

/** Shows how much of the room is in use. */
export const measureRoom = (registry: Registry, room: Room): Room => {
  new Gauge({
    name: 'hyperfleet_api_stream_bytes',
    help: 'Bytes of documents that long lists and streams have read and that their readers have not taken yet',
    registers: [registry],
    collect() {
      this.set(room.bytesInUse)
    },
  })
  return room
}
