// SPDX-License-Identifier: BSD-3-Clause
// shared_object.hpp - an object in memory that a process shares with its later children.
#pragma once

#include <sys/mman.h>

#include <new>

namespace weft::test {

/// Owns an object in shared memory. The object's destructor is not called.
template <class T>
class SharedObject {
  public:
    SharedObject() {
        void* const at =
            ::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (at == MAP_FAILED) throw std::bad_alloc();
        object_ = new (at) T{};
    }
    ~SharedObject() { ::munmap(object_, sizeof(T)); }
    SharedObject(const SharedObject&) = delete;
    SharedObject& operator=(const SharedObject&) = delete;

    T& operator*() const { return *object_; }
    T* operator->() const { return object_; }

  private:
    T* object_;
};

}  // namespace weft::test
