// SPDX-License-Identifier: BSD-3-Clause
// json.hpp - JSON values that programs write and read.
//
// Idea     A separate value type whose members keep their order of insertion. Only json.cpp uses
//          the JSON library, to print and parse.
// Why      Including the library's templates costs each file one to three seconds of compile time.
// Holds    {{"name", value}, ...} is an object, {value, ...} an array. A missing member reads as
//          null; at() throws.
#pragma once

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::lab {

class Json {
  public:
    enum class Kind : std::uint8_t {
        null,
        boolean,
        integer,
        natural,  ///< an integer without sign
        number,
        string,
        array,
        object,
        discarded,  ///< the text was not valid JSON
    };

    Json(std::nullptr_t = nullptr) {}
    template <std::same_as<bool> T>
    Json(T value) : kind_(Kind::boolean), natural_(value ? 1 : 0) {}
    template <std::signed_integral T>
    Json(T value) : kind_(Kind::integer), integer_(value) {}
    template <std::unsigned_integral T>
    requires(!std::same_as<T, bool>) Json(T value) : kind_(Kind::natural), natural_(value) {}
    template <std::floating_point T>
    Json(T value) : kind_(Kind::number), number_(value) {}
    Json(std::string value) : kind_(Kind::string), text_(std::move(value)) {}
    Json(std::string_view value) : Json(std::string(value)) {}
    Json(const char* value) : Json(std::string(value)) {}
    template <class T>
    Json(const std::vector<T>& values) : kind_(Kind::array), parts_(values.begin(), values.end()) {}
    template <class T>
    Json(const std::map<std::string, T>& values) : kind_(Kind::object) {
        for (const auto& [name, value] : values) (*this)[name] = value;
    }
    /// Makes an object if all parts are arrays of a name and a value, else an array.
    Json(std::initializer_list<Json> parts);

    [[nodiscard]] static Json array() { return Json(Kind::array); }
    [[nodiscard]] static Json object() { return Json(Kind::object); }
    [[nodiscard]] static Json discarded() { return Json(Kind::discarded); }

    [[nodiscard]] Kind kind() const { return kind_; }
    [[nodiscard]] bool is_null() const { return kind_ == Kind::null; }
    [[nodiscard]] bool is_boolean() const { return kind_ == Kind::boolean; }
    [[nodiscard]] bool is_number() const {
        return kind_ == Kind::integer || kind_ == Kind::natural || kind_ == Kind::number;
    }
    [[nodiscard]] bool is_number_unsigned() const { return kind_ == Kind::natural; }
    [[nodiscard]] bool is_number_float() const { return kind_ == Kind::number; }
    [[nodiscard]] bool is_string() const { return kind_ == Kind::string; }
    [[nodiscard]] bool is_array() const { return kind_ == Kind::array; }
    [[nodiscard]] bool is_object() const { return kind_ == Kind::object; }
    [[nodiscard]] bool is_discarded() const { return kind_ == Kind::discarded; }

    /// Returns a string, bool or number; throws for other kinds.
    template <class T>
    [[nodiscard]] T get() const {
        if constexpr (std::same_as<T, std::string>)
            return text();
        else if constexpr (std::same_as<T, bool>)
            return truth();
        else if (kind_ == Kind::integer)
            return static_cast<T>(integer_);
        else if (kind_ == Kind::natural)
            return static_cast<T>(natural_);
        else
            return static_cast<T>(number());
    }

    // Parts: the elements of an array, the values of an object.

    [[nodiscard]] std::size_t size() const { return parts_.size(); }
    [[nodiscard]] bool empty() const { return parts_.empty(); }
    [[nodiscard]] auto begin() const { return parts_.begin(); }
    [[nodiscard]] auto end() const { return parts_.end(); }
    [[nodiscard]] auto begin() { return parts_.begin(); }
    [[nodiscard]] auto end() { return parts_.end(); }
    [[nodiscard]] const Json& front() const { return parts_.front(); }
    [[nodiscard]] const Json& back() const { return parts_.back(); }
    [[nodiscard]] Json& back() { return parts_.back(); }
    [[nodiscard]] const Json& operator[](std::size_t index) const { return parts_[index]; }
    [[nodiscard]] Json& operator[](std::size_t index) { return parts_[index]; }
    [[nodiscard]] const Json& at(std::size_t index) const { return parts_.at(index); }
    /// Appends to an array. A null value becomes an array first.
    void push_back(Json value);

    /// Returns a member, which is added if missing. A null value becomes an object first.
    [[nodiscard]] Json& operator[](std::string_view name);
    [[nodiscard]] const Json& operator[](std::string_view name) const;
    [[nodiscard]] const Json& at(std::string_view name) const;
    [[nodiscard]] bool contains(std::string_view name) const { return find(name) != nullptr; }
    template <class T>
    [[nodiscard]] T value(std::string_view name, T otherwise) const {
        const Json* const found = find(name);
        return found == nullptr ? otherwise : found->get<T>();
    }
    [[nodiscard]] std::string value(std::string_view name, const char* otherwise) const {
        return value(name, std::string(otherwise));
    }
    void erase(std::string_view name);
    /// Sets all members of another object.
    void update(const Json& other);
    /// Returns names and values of an object.
    [[nodiscard]] std::vector<std::pair<const std::string&, const Json&>> items() const;

    /// Prints on one line, or each value on its own line.
    [[nodiscard]] std::string dump(int indent = -1) const;

    /// Compares numbers by value, objects by their members, including order.
    friend bool operator==(const Json& a, const Json& b);
    /// Orders numbers; other values are unordered.
    friend std::partial_ordering operator<=>(const Json& a, const Json& b);
    friend std::ostream& operator<<(std::ostream& out, const Json& value);

  private:
    explicit Json(Kind kind) : kind_(kind) {}
    [[nodiscard]] const Json* find(std::string_view name) const;
    [[nodiscard]] const std::string& text() const;
    [[nodiscard]] bool truth() const;
    [[nodiscard]] double number() const;

    Kind kind_ = Kind::null;
    union {
        std::int64_t integer_;
        std::uint64_t natural_ = 0;
        double number_;
    };
    std::string text_;
    std::vector<std::string> names_;  ///< of an object's parts
    std::vector<Json> parts_;
};

/// Prints the value for GoogleTest, which would print it as a list.
void PrintTo(const Json& value, std::ostream* out);

/// Returns the characters of a string; for other values, their JSON text.
[[nodiscard]] std::string json_text(const Json& value);
/// Prints the value on a line of stdout.
void print_json(const Json& value);
/// Parses the text; is_discarded() is true if it is not valid JSON.
[[nodiscard]] Json read_json(const std::string& text);

}  // namespace weft::lab
