#include "headrace/run_index/local_disk.h"

#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace headrace {

bool is_on_local_disk(const std::string& folder) {
  // Numbers of linux/magic.h and of the file systems' own sources.
  constexpr std::array<std::uint32_t, 14> kRemote = {
      0x6969,      // NFS
      0xff534d42,  // CIFS
      0xfe534d42,  // SMB 2
      0x517b,      // SMB
      0x65735546,  // FUSE
      0x01021997,  // 9P
      0x00c36400,  // Ceph
      0x0bd00bd0,  // Lustre
      0x47504653,  // GPFS
      0x19830326,  // BeeGFS
      0x5346414f,  // AFS
      0x6b414653,  // AFS of the kernel
      0x7461636f,  // OCFS2
      0x01161970,  // GFS2
  };
  struct statfs found {};
  if (statfs(folder.c_str(), &found) != 0) return false;
  const auto kind = static_cast<std::uint32_t>(found.f_type);
  return std::find(kRemote.begin(), kRemote.end(), kind) == kRemote.end();
}

}  // namespace headrace
